"""Keras model -> SavedModel that TensorFlow Serving takes unchanged."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export import (
    answers,
    checks,
    models_config,
    origin,
    signatures,
    versions,
    warmup,
)
from elu_zoo.export.answers import Autoencoder
from elu_zoo.export.loaded import LoadedModel, load_saved_model
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
    source: Mapping[str, Any] | None = None,
    version: int | None = None,
    replace: bool = False,
) -> Path:
    """Writes `model` as <directory>/<name>/<version>/, whole or not at all.

    The signatures are those of `signatures.endpoints`; a classifier's class names lie
    in assets/labels.txt, one a line. In assets.extra/, which TensorFlow Serving reads
    nothing else of, lie the warm-up requests, see `warmup.write`, and elu_zoo.json,
    see `origin.write`. Before the folder gets its number, it is loaded again and held
    against `model` (see `checks.check`); after that <directory>/models.config is
    written anew, see `models_config.text`.

    Args:
        model: one input, raw images (batch, height, width, 1 or 3) with pixels
            0..255, to one output: logits (batch, classes), or of an autoencoder one
            number a pixel, in the shape of the input.
        directory: the base of all exports; made when it does not exist.
        name: the model's name under a server.
        class_names: of a classifier, one for each class, in the order of the outputs.
        autoencoder: of an autoencoder, instead of `class_names`.
        classifier: the name of the layer that makes a classifier's logits; without
            it there is no signature `features`.
        source: where the model comes from, for elu_zoo.json; see `origin.of_weights`.
        version: a positive integer that does not exist yet; None takes the one after
            the highest, starting with 1.
        replace: write a version although the highest one under this name is of another
            model, or of one that `source` does not tell from others; the log says
            what is replaced.

    Returns:
        The version's folder.

    Raises:
        UsageError: the model is not of this form, `class_names`, `autoencoder` or
            `classifier` do not fit it, the version exists already, or the name has
            another model's and `replace` is false.
        ResourceError: the disk refused.
        EluZooError: the written SavedModel failed a check.
    """
    if keras.config.backend() != "tensorflow":
        raise errors.UsageError(
            "A SavedModel is written with KERAS_BACKEND=tensorflow, not "
            f"{keras.config.backend()}. Load the weights there; they are the same file."
        )
    answer = answers.make(model, class_names, autoencoder, classifier)
    target = Target(directory, name, versions.SAVED_MODEL, version, source, replace)
    with target.written() as (path, temporary):
        endpoints = signatures.endpoints(answer)
        _save(endpoints, answer.class_names, temporary)
        warmup.write(temporary / warmup.FILE, name, answer.image_shape, endpoints)
        origin.write(
            temporary / origin.FILE,
            answer,
            source=source,
            parity=checks.check(temporary, answer),
            outputs={
                signature: sorted(function.structured_outputs)
                for signature, function in endpoints.items()
            },
        )
    models_config.write(Path(directory))
    return path


def _save(endpoints: dict, class_names: Sequence[str], directory: Path) -> None:
    module = tf.Module()
    # Only the variables, not the Keras model: a model would bring its own trace and
    # a second copy of each, and would want Keras when it is loaded.
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
                "A layer holds state that is not a variable, such as a lookup table; "
                "an export cannot carry it."
            ) from error
