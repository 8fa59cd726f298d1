"""Builds a registered network and loads its weights."""

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
        arguments: the builder's arguments, completed by those of the weights.
        weights: None for the seeded initial weights.

    Raises:
        UsageError: an argument is out of range.
        NotFoundError: the network's statistics or the weight file are missing.
        CorruptError: the weight file or its entry is damaged, or belongs to another
            network.
        ResourceError: the network does not fit into memory.
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
            f"{registered.name} preprocesses raw images with statistics that are "
            f"not on this machine. {error} Pass preprocessing=False for a network that "
            "takes preprocessed images."
        ) from error
    except MemoryError as error:
        raise errors.ResourceError(
            f"The weights of this {registered.name} do not fit the memory: {error}. "
            "Use a smaller width, input_shape or num_classes."
        ) from error


def _build_unpublished(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> keras.Model:
    """Builds a network for an entry that is not trusted."""
    entry = weights.entry
    try:
        shapes = _shapes_of_file(registered, arguments, weights)
        weight_file.check_fits(weights.path, shapes, entry["bytes"], entry["tag"])
        return _build(registered, arguments)
    except errors.EluZooError:
        raise
    # Keras raises errors of many types for arguments that builders do not expect.
    except Exception as error:
        raise errors.CorruptError(
            f"{registered.name} cannot be built from the entry {entry['tag']}: "
            f"{untrusted.printable(str(error), 300)}. The entry is damaged, or from a "
            "newer version of elu_zoo."
        ) from error


def _shapes_of_file(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained
) -> weight_file.Shapes:
    """Returns the shapes of the weights in a file without allocating them."""
    of_file = {k: v for k, v in arguments.items() if k != "preprocessing"}
    trained = weights.entry["arguments"].get("num_classes")
    if trained is not None:
        of_file["num_classes"] = trained

    def shapes() -> weight_file.Shapes:
        with keras.StatelessScope(initialize_variables=False):
            return weight_file.shapes(registered.builder(**of_file))

    # In the current thread Keras would initialize these variables later.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, shapes).result()


def _warn_of_float16(model: keras.Model) -> None:
    """Warns of a dtype policy that is slow on a CPU."""
    if any(layer.compute_dtype == "float16" for layer in model.layers):
        devices = keras.distribution.list_devices()
        if all(device.startswith("cpu") for device in devices):
            logging.warning(
                "%s computes in float16 on a CPU, which is slower than float32. Call "
                'keras.config.set_dtype_policy("float32"), or with "mixed_bfloat16", '
                "before the model is built.",
                model.name,
            )


def _load(
    model: keras.Model,
    registered: ModelEntry,
    arguments: dict[str, Any],
    weights: Pretrained,
) -> None:
    """Loads weights; a classifier with another number of classes keeps its own."""
    classifier = registered.classifier
    trained = weights.entry["arguments"].get("num_classes") if weights.entry else None
    asked = arguments.get("num_classes", trained)
    if trained in (None, asked):
        arrays = weights.read(weight_file.shapes(model))
    elif classifier is None:
        raise errors.UsageError(
            f"{registered.name} was registered without a classifier, so that its "
            f"weights only fit num_classes={trained}. Received: num_classes={asked}."
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
