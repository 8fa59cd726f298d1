"""elu_zoo.json: what an exported model is, and where it comes from."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import elu_zoo
from elu_zoo import files
from elu_zoo.export.answers import Answer
from elu_zoo.weights.pretrained import Pretrained

FILE = "assets.extra/elu_zoo.json"  # TensorFlow Serving does not read it there
FORMAT = 1
# Those of `of_weights`; a file of an earlier version may lack some.
FIELDS = ("model", "dataset", "activation", "alpha", "weights", "preprocessing")


def of_weights(weights: Pretrained) -> dict[str, Any]:
    """Returns where a model with weights comes from.

    Returns:
        `model`, the network's name; `dataset`, the name of the data set that the
        weights were trained on, None without an entry; `activation` and `alpha`, None
        where it has none; `weights`, their `tag` (None without an entry) and `sha256`;
        and `preprocessing`, see `elu_zoo.layers.preprocessing_layers`.
    """
    tag = weights.entry["tag"] if weights.entry else None
    sha256 = weights.entry["sha256"] if weights.entry else files.sha256(weights.path)
    return {
        "model": weights.model,
        "dataset": weights.dataset,
        "activation": weights.activation["name"],
        "alpha": weights.activation.get("alpha"),
        "weights": {"tag": tag, "sha256": sha256},
        "preprocessing": weights.preprocessing,
    }


def read(version: Path) -> dict[str, Any] | None:
    """Returns what an exported version says of itself.

    Args:
        version: the folder of a SavedModel, or of a file for another runtime.

    Returns:
        What `write` wrote, by this version of elu_zoo or an earlier one; None where
        there is no such file, or none that can be read.
    """
    for file in (version / FILE, version / Path(FILE).name):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            content = json.loads(file.read_bytes())
            if isinstance(content, dict):
                return content
    return None


def write(
    path: Path,
    answer: Answer,
    *,
    source: Mapping[str, Any] | None,
    parity: Mapping[str, Any],
    outputs: Mapping[str, Any],
) -> None:
    """Writes what an export is, as JSON.

    Beside `outputs` and `parity` it says the `format` of this file, the number of
    `classes` (None of an autoencoder), the `input_shape` of an image, the `versions`
    that made it, and of `source` each of `FIELDS`, None where it is not known.

    Args:
        path: of the file; the folder above it is made.
        answer: of the model.
        source: see `of_weights`; None for a model of which nothing is known.
        parity: see `checks.compare`.
        outputs: the names of the outputs by the name of their signature.
    """
    path.parent.mkdir(exist_ok=True)
    content = {
        "format": FORMAT,
        **{field: (source or {}).get(field) for field in FIELDS},
        "classes": len(answer.class_names) or None,
        "input_shape": list(answer.image_shape),
        "outputs": dict(outputs),
        "parity": dict(parity),
        "versions": {
            "elu_zoo": elu_zoo.__version__,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
        },
    }
    files.write_json(path, content)
