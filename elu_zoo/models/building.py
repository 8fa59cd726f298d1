"""Building of a registered network, and loading of its weights."""

import concurrent.futures
import contextvars
from typing import Any

import keras
from absl import logging

from elu_zoo import errors
from elu_zoo.registry import ModelEntry
from elu_zoo.weights.hdf5 import untrusted, weight_file
from elu_zoo.weights.pretrained import Pretrained


def build(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained | None
) -> keras.Model:
    """Returns a network with initial or pretrained weights.

    Args:
        registered: the network.
        arguments: of its builder, with those of the weights.
        weights: None for the seeded initial weights.

    Raises:
        UsageError: an argument out of its range.
        NotFoundError: the network's statistics or its weight file are not there.
        CorruptError: the weight file or its entry is damaged, or of another network.
        ResourceError: the network does not fit the memory.
    """
    if weights and weights.entry and not weights.is_published:
        model = _build_unpublished(registered, arguments, weights)
    else:
        model = _build(registered, arguments)
    _warn_of_float16(model)
    if weights:
        _load(model, registered, arguments, weights)
    return model


def _build(registered: ModelEntry, arguments: dict[str, Any]) -> keras.Model:
    try:
        return registered.builder(**arguments)
    except errors.NotFoundError as error:  # before any weight is drawn
        raise errors.NotFoundError(
            f"{registered.name} makes its input of raw images by statistics that are "
            f"not on this machine. {error} Pass preprocessing=False for a network that "
            "takes images which are preprocessed already."
        ) from error
    except MemoryError as error:
        raise errors.ResourceError(
            f"The weights of this {registered.name} do not fit the memory: {error}. "
            "Take a smaller width, input_shape or num_classes."
        ) from error


def _build_unpublished(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> keras.Model:
    """Builds a network by an entry that may ask for anything."""
    entry = weights.entry
    try:
        shapes = _shapes_of_file(registered, arguments, weights)
        weight_file.check_fits(weights.path, shapes, entry["bytes"], entry["tag"])
        return _build(registered, arguments)
    except errors.EluZooError:
        raise
    # Keras raises errors of many types for arguments that no builder has seen before.
    except Exception as error:
        raise errors.CorruptError(
            f"The arguments of the entry {entry['tag']} make no {registered.name}"
            f": {untrusted.printable(str(error), 300)}. The entry is damaged, or of a "
            "newer version of elu_zoo."
        ) from error


def _shapes_of_file(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> weight_file.Shapes:
    """Returns the shapes of the weights in a file, without the memory for them."""
    of_file = {k: v for k, v in arguments.items() if k != "preprocessing"}
    trained = weights.entry["arguments"].get("num_classes")
    if trained is not None:
        of_file["num_classes"] = trained

    def sketch() -> weight_file.Shapes:
        with keras.StatelessScope(initialize_variables=False):
            return weight_file.shapes(registered.builder(**of_file))

    # In this thread Keras would initialize these variables later.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, sketch).result()


def _warn_of_float16(model: keras.Model) -> None:
    """Warns of a dtype policy of Keras that is slow on a CPU."""
    if any(layer.compute_dtype == "float16" for layer in model.layers):
        devices = keras.distribution.list_devices()
        if all(device.startswith("cpu") for device in devices):
            logging.warning(
                "%s computes in float16 on a CPU, which takes longer there than "
                "float32. Before it is built, keras.config.set_dtype_policy("
                '"float32") or "mixed_bfloat16".',
                model.name,
            )


def _load(
    model: keras.Model,
    registered: ModelEntry,
    arguments: dict[str, Any],
    weights: Pretrained,
) -> None:
    """Gives a model the weights; a classifier of other classes stays as it is."""
    classifier = registered.classifier
    trained = weights.entry["arguments"].get("num_classes") if weights.entry else None
    asked = arguments.get("num_classes", trained)
    if trained in (None, asked):
        arrays = weights.read(weight_file.shapes(model))
    elif classifier is None:
        raise errors.UsageError(
            f"{registered.name} was registered without a classifier, so that its "
            f"weights fit num_classes={trained} alone. Received: num_classes={asked}."
        )
    else:
        arrays = weights.read(_shapes_of_file(registered, arguments, weights))
        del arrays[classifier]
        if weights.has_classifier:
            logging.info(
                "%s has %d classes, num_classes is %d: the layer %r starts from its "
                "initial weights, every other layer is loaded.",
                weights.entry["tag"],
                trained,
                asked,
                classifier,
            )
    if not weights.has_classifier:
        arrays.pop(classifier, None)
    weight_file.assign(model, arrays)
