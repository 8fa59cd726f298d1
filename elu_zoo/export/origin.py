"""elu_zoo.json: the description and origin of an exported model."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.export.named_outputs import NamedOutputs
from elu_zoo.weights.pretrained import Pretrained

FILE = "assets.extra/elu_zoo.json"  # in a folder that TensorFlow Serving ignores
FORMAT = 1
# The fields of `of_weights`; exports of other origin may lack some.
FIELDS = ("model", "dataset", "activation", "alpha", "weights", "preprocessing")


def of_weights(weights: Pretrained) -> dict[str, Any]:
    """Returns the origin of a model with weights.

    For weights without an entry, `dataset` and the `tag` of the weights are None.
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
    """Returns the elu_zoo.json of a version, or None if it is missing or damaged."""
    for file in (version / FILE, version / Path(FILE).name):
        with contextlib.suppress(OSError, errors.CorruptError):
            return files.read_json(file)
    return None


def write(
    path: Path,
    function: NamedOutputs,
    *,
    source: Mapping[str, Any] | None,
    parity: Mapping[str, Any],
    outputs: Mapping[str, Any],
    quantization: str | None = None,
) -> None:
    """Writes the elu_zoo.json of an export.

    Args:
        source: see `of_weights`; None if unknown.
        parity: see `checks.compare`.
        outputs: the names of the outputs, by signature.
    """
    path.parent.mkdir(exist_ok=True)
    content = {
        "format": FORMAT,
        **{field: (source or {}).get(field) for field in FIELDS},
        "classes": len(function.class_names) or None,
        "temperature": function.temperature if function.class_names else None,
        "input_shape": list(function.image_shape),
        "outputs": dict(outputs),
        "parity": dict(parity),
        "quantization": quantization,
        "versions": {
            "elu_zoo": elu_zoo.__version__,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
        },
    }
    files.write_json(path, content)
