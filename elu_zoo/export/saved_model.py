"""Keras model -> SavedModel that TensorFlow Serving takes unchanged."""

import contextlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf

from elu_zoo import errors, files
from elu_zoo.export import answers, checks, signatures, versions
from elu_zoo.export.answers import Autoencoder
from elu_zoo.export.loaded import LoadedModel, load_saved_model

__all__ = ["Autoencoder", "LoadedModel", "export_saved_model", "load_saved_model"]

# What TensorFlow Serving's REST paths can carry; a number would read as a version.
_NAME = re.compile(r"(?=.*[A-Za-z_])[A-Za-z0-9_][A-Za-z0-9_.-]*")


def export_saved_model(
    model: keras.Model,
    directory: str | os.PathLike,
    *,
    name: str,
    class_names: Sequence[str] | None = None,
    autoencoder: Autoencoder | None = None,
    version: int | None = None,
) -> Path:
    """Writes `model` as <directory>/<name>/<version>/, whole or not at all.

    The signatures are those of `signatures.endpoints`; a classifier's class names lie
    in assets/labels.txt, one a line. Before the folder gets its number, it is loaded
    again and held against `model` (see `checks.check`).

    Args:
        model: one input, raw images (batch, height, width, 1 or 3) with pixels
            0..255, to one output: logits (batch, classes), or of an autoencoder one
            number a pixel, in the shape of the input.
        directory: the base of all exports; made when it does not exist.
        name: the model's name under a server.
        class_names: of a classifier, one for each class, in the order of the outputs.
        autoencoder: of an autoencoder, instead of `class_names`.
        version: a positive integer that does not exist yet; None takes the one after
            the highest, starting with 1.

    Returns:
        The version's folder.

    Raises:
        UsageError: the model is not of this form, `class_names` or `autoencoder` do
            not fit it, or the version exists already.
        ResourceError: the disk refused.
        EluZooError: the written SavedModel failed a check.
    """
    if keras.config.backend() != "tensorflow":
        raise errors.UsageError(
            "A SavedModel is written with KERAS_BACKEND=tensorflow, not "
            f"{keras.config.backend()}. Load the weights there; they are the same file."
        )
    answer = answers.make(model, class_names, autoencoder)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"name must be of letters, digits, '_', '-' and '.', got {name!r}."
        )
    endpoints = signatures.endpoints(answer)
    folder = Path(directory) / name
    with _disk_errors(folder), _no_empty_folders(folder):
        path = versions.new_version(folder, version)
        with files.new_directory(path) as temporary:
            _save(endpoints, answer.class_names, temporary)
            checks.check(temporary, answer)
    return path


def _save(endpoints: dict, class_names: Sequence[str], directory: Path) -> None:
    module = tf.Module()
    # Only the variables, not the Keras model: a model would bring its own trace and
    # a second copy of each, and would want Keras when it is loaded.
    module.weights = endpoints["serving_default"].variables
    with tempfile.TemporaryDirectory() as scratch:
        if class_names:
            labels = Path(scratch, "labels.txt")
            labels.write_text("".join(f"{name}\n" for name in class_names), "utf-8")
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


@contextlib.contextmanager
def _disk_errors(folder: Path):
    try:
        yield
    except errors.EluZooError:
        raise
    except OSError as error:
        raise errors.ResourceError(f"Cannot export to {folder}: {error}") from error


@contextlib.contextmanager
def _no_empty_folders(folder: Path):
    """Removes the folders above the version again when the export fails."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()
        raise
