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
from elu_zoo.export import checks, signatures, versions
from elu_zoo.export.loaded import LoadedModel, load_saved_model

__all__ = ["LoadedModel", "export_saved_model", "load_saved_model"]

# What TensorFlow Serving's REST paths can carry; a number would read as a version.
_NAME = re.compile(r"(?=.*[A-Za-z_])[A-Za-z0-9_][A-Za-z0-9_.-]*")


def export_saved_model(
    model: keras.Model,
    directory: str | os.PathLike,
    *,
    name: str,
    class_names: Sequence[str],
    version: int | None = None,
) -> Path:
    """Writes `model` as <directory>/<name>/<version>/, whole or not at all.

    The signatures are those of `signatures.endpoints`; the class names lie in
    assets/labels.txt, one a line. Before the folder gets its number, it is loaded
    again and held against `model` (see `checks.check`).

    Args:
        model: one input, raw images (batch, height, width, 1 or 3) with pixels
            0..255, to one output, logits (batch, classes).
        directory: the base of all exports; made when it does not exist.
        name: the model's name under a server.
        class_names: one for each class, in the order of the outputs.
        version: a positive integer that does not exist yet; None takes the one after
            the highest, starting with 1.

    Returns:
        The version's folder.

    Raises:
        UsageError: the model is not of this form, the class names do not fit it, or
            the version exists already.
        ResourceError: the disk refused.
        EluZooError: the written SavedModel failed a check.
    """
    shape = _image_shape(model)
    _check_class_names(class_names, model.outputs[0].shape[-1])
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise errors.UsageError(
            f"name must be of letters, digits, '_', '-' and '.', got {name!r}."
        )
    endpoints = signatures.endpoints(model, shape)
    folder = Path(directory) / name
    with _disk_errors(folder), _no_empty_folders(folder):
        path = versions.new_version(folder, version)
        with files.new_directory(path) as temporary:
            _save(endpoints, class_names, temporary)
            checks.check(temporary, model, shape)
    return path


def _image_shape(model: keras.Model) -> tuple[int, int, int]:
    if keras.config.backend() != "tensorflow":
        raise errors.UsageError(
            "A SavedModel is written with KERAS_BACKEND=tensorflow, not "
            f"{keras.config.backend()}. Load the weights there; they are the same file."
        )
    inputs = [tuple(tensor.shape) for tensor in getattr(model, "inputs", None) or ()]
    outputs = [tuple(tensor.shape) for tensor in getattr(model, "outputs", None) or ()]
    fits = [len(shape) for shape in inputs] == [4] and inputs[0][-1] in (1, 3)
    fits = fits and None not in inputs[0][1:]
    fits = fits and [len(shape) for shape in outputs] == [2] and outputs[0][-1]
    if not fits:
        raise errors.UsageError(
            "The model must map one image input (batch, height, width, 1 or 3) of "
            f"fixed size to one output (batch, classes), got {inputs} to {outputs}."
        )
    return inputs[0][1:]


def _check_class_names(class_names: Sequence[str], classes: int) -> None:
    if isinstance(class_names, str):
        raise errors.UsageTypeError("class_names must be a list of names, got one str.")
    if len(class_names) != classes:
        raise errors.UsageError(
            f"The model has {classes} classes, but class_names has {len(class_names)}."
        )
    for name in class_names:
        if not isinstance(name, str) or name.splitlines() != [name]:
            raise errors.UsageError(f"A class name must be one line, got {name!r}.")


def _save(endpoints: dict, class_names: Sequence[str], directory: Path) -> None:
    module = tf.Module()
    # Only the variables, not the Keras model: a model would bring its own trace and
    # a second copy of each, and would want Keras when it is loaded.
    module.weights = endpoints["serving_default"].variables
    with tempfile.TemporaryDirectory() as scratch:
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
