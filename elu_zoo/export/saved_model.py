"""Export of a Keras model to a SavedModel for TensorFlow Serving."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export import (
    checks,
    models_config,
    named_outputs,
    origin,
    signatures,
    versions,
    warmup,
)
from elu_zoo.export.loaded import LoadedModel, load_saved_model
from elu_zoo.export.named_outputs import Autoencoder
from elu_zoo.export.target import Target

__all__ = ["Autoencoder", "LoadedModel", "export_saved_model", "load_saved_model"]


def export_saved_model(
    model: keras.Model,
    directory: str | os.PathLike,
    *,
    name: str,
    class_names: Sequence[str] | None = None,
    autoencoder: Autoencoder | None = None,
    classifier: str | None = None,
    temperature: float = 1.0,
    source: Mapping[str, Any] | None = None,
    version: int | None = None,
    replace: bool = False,
) -> Path:
    """Writes a model as a SavedModel to <directory>/<name>/<version>/, atomically.

    The signatures are `serving_default`, `serve_bytes` (PNG, JPEG) and `features`, see
    `signatures.endpoints`. The folder also has assets/labels.txt, warm-up requests and
    elu_zoo.json. The outputs are compared with those of `model` before the folder gets its
    number; then <directory>/models.config is rewritten.

    Args:
        model: a model of one input, raw images `(batch, height, width, 1 or 3)` of one size,
            0..255, and one output: logits `(batch, classes)`, or for an autoencoder one
            number per pixel, in the shape of the input.
        directory: the base of all exports; created if missing.
        name: the model's name on a server.
        class_names: the class names of a classifier, in the order of the logits.
        autoencoder: the description of an autoencoder, instead of `class_names`.
        classifier: the layer that outputs the logits; None for no signature `features`.
        temperature: > 0, divides the logits in `probabilities` (`weights.calibration`).
        source: the origin of the model for elu_zoo.json, see `origin.of_weights`.
        version: a positive integer that does not exist yet; None for the highest
            version plus 1.
        replace: whether to write beside a highest version of another model or of unknown
            origin. The log reports the replacement.

    Returns:
        The version's folder.
    """
    function = named_outputs.make(model, class_names, autoencoder, classifier, temperature)
    target = Target(directory, name, versions.SAVED_MODEL, version, source, replace)
    with target.write_version() as (path, temporary):
        endpoints = signatures.endpoints(function)
        _save(endpoints, function.class_names, temporary)
        warmup.write(temporary / warmup.FILE, name, function.image_shape, endpoints)
        origin.write(
            temporary / origin.FILE,
            function,
            source=source,
            parity=checks.check(temporary, function),
            outputs={
                signature: sorted(function.structured_outputs)
                for signature, function in endpoints.items()
            },
        )
    models_config.write(path.parents[1])
    return path


def _save(endpoints: dict, class_names: Sequence[str], directory: Path) -> None:
    module = tf.Module()
    # A Keras model would add its own trace and a second copy of each variable, and
    # need Keras for loading.
    module.weights = endpoints["serving_default"].variables
    with tempfile.TemporaryDirectory() as scratch:
        if class_names:
            labels = Path(scratch, "labels.txt")
            versions.write_labels(labels, class_names)
            module.labels = tf.saved_model.Asset(str(labels))
        try:
            tf.saved_model.save(module, str(directory), signatures=endpoints)
        except tf.errors.OpError as error:
            raise OSError(error.message) from error
        except AssertionError as error:
            raise errors.EluZooError(
                "A layer has state that is not a variable, such as a lookup table, "
                "which an export cannot store. Store the state in variables."
            ) from error
