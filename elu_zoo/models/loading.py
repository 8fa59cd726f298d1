"""Pretrained weights of a network: checks before it is built, and their assignment."""

import concurrent.futures
import contextvars
from collections.abc import Callable
from typing import Any

import keras
from absl import logging

from elu_zoo import errors
from elu_zoo.registry import ModelEntry
from elu_zoo.weights import hdf5
from elu_zoo.weights.pretrained import Pretrained


def check_saved(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained, needs_classifier: bool
) -> None:
    """Checks a file without an entry, which can state any image size, before the build."""
    model, classifier = _abstract(registered, arguments, weights), registered.classifier
    weights.saved.check(model, classifier)
    expected = hdf5.shapes(model)
    if not weights.has_classifier:
        expected = _body(expected, classifier)
    hdf5.read(weights.path, expected, None)
    if needs_classifier and not weights.has_classifier:
        raise errors.UsageError(
            f"{weights.name} has no layer {classifier!r}. Pass num_classes=<number> for a new "
            "one, or include_top=False. Load a model with a head of your own with "
            "keras.models.load_model."
        )


def build_unpublished(
    registered: ModelEntry,
    arguments: dict[str, Any],
    weights: Pretrained,
    build: Callable[..., keras.Model],
) -> keras.Model:
    """Builds a network from a manifest entry that is not trusted."""
    try:
        shapes = hdf5.shapes(_abstract(registered, arguments, weights))
        hdf5.read(weights.path, shapes, weights.entry["sha256"])  # It can be forged and huge.
    except (errors.EluZooError, MemoryError):
        raise
    # Keras raises errors of many types for arguments that builders do not expect.
    except Exception as error:
        size = weights.arguments.get("input_shape")  # A damaged entry may lack it.
        # Else the user chose a size, which may not fit.
        if size and size != [*arguments["input_shape"]] and isinstance(error, ValueError):
            raise
        reason = errors.printable(str(error), 300)
        raise errors.CorruptError(
            f"{registered.name} cannot be built from the entry {weights.name}: {reason}. The "
            "entry is damaged, or was written by a newer version of elu_zoo."
        ) from error
    return build(registered, arguments)


def _abstract(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> keras.Model:
    """Returns the network of a file, without preprocessing and values of its weights."""
    file_arguments = {k: v for k, v in arguments.items() if k != "preprocessing"}
    file_classes = weights.arguments.get("num_classes")
    if file_classes is not None:
        file_arguments["num_classes"] = file_classes

    def build_abstract() -> keras.Model:
        with keras.StatelessScope(initialize_variables=False):
            return registered.builder(**file_arguments)

    # In the current thread, Keras would initialize these variables after this scope.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, build_abstract).result()


def _body(values: dict[str, Any], classifier: str | None) -> dict[str, Any]:
    """Returns values by layer without the classifier and the activation of its maps."""
    return {k: v for k, v in values.items() if k not in (classifier, f"act_{classifier}")}


def load(
    model: keras.Model, registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> None:
    """Loads weights; a classifier that they lack, or of another size, stays initial."""
    classifier = registered.classifier
    in_file = weights.arguments.get("num_classes")
    num_classes = arguments.get("num_classes", in_file)
    is_equal = in_file in (None, num_classes)
    expected = hdf5.shapes(model if is_equal else _abstract(registered, arguments, weights))
    if weights.saved and not weights.has_classifier:
        expected = _body(expected, classifier)
    arrays = hdf5.read(weights.path, expected, weights.entry["sha256"] if weights.entry else None)
    if not is_equal or not weights.has_classifier:
        arrays = _body(arrays, classifier)
        initial = f"The layer {classifier!r} and its activation stay initial; other" * bool(
            classifier
        )
        logging.info("%s layers get the weights of %s.", initial or "All", weights.name)
    hdf5.assign(model, arrays)
