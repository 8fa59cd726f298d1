"""Runs that go on from the weights of another: what they take over, what is frozen."""

import re
from typing import Any

import keras
from ml_collections import ConfigDict

from elu_zoo import activations, errors, registry
from elu_zoo.data import load, shapes
from elu_zoo.weights import entries, h5, store

BODY = "body"


def resolved(config: ConfigDict) -> ConfigDict:
    """Returns a config in which what it leaves open is the weights', as a copy.

    A config with an entry `model.weights` may leave activation, normalisation, width
    and other arguments of the network open, as "" or None. They become those of the
    weights; without weights those of the builder.

    Raises:
        UsageError: there are no such weights, or the config contradicts them.
        CorruptError: they have no entry.
    """
    if config.get("model", {}).get("weights") is None:
        return config
    config = config.copy_and_resolve_references()
    parameters = registry.entry(config.model.name).parameters
    found = {name: p.default for name, p in parameters.items()}
    if entry := parent(config):
        found |= entry["arguments"]
    model = config.model
    with config.unlocked():
        given = model.activation
        if not given.name or (entry and _same_activation(given, found["activation"])):
            activation = found["activation"]
            is_name = isinstance(activation, str)
            model.activation = ConfigDict(
                {"name": activation, "alpha": None} if is_name else activation
            )
            if "alpha" not in model.activation:
                model.activation.alpha = None
        for key in [key for key in model if model[key] is None]:
            model[key] = found[key]
    if entry:
        _check_same(entry, config)
    return config


def _same_activation(given: ConfigDict, trained: dict[str, Any]) -> bool:
    return activations.describe(given.to_dict()) == trained


def _check_same(entry: entries.Entry, config: ConfigDict) -> None:
    """Refuses weights of another activation, say: their shapes would not tell."""
    given = config.model.to_dict()
    given["activation"] = activations.describe(given["activation"])
    if shape := config.data.get("image_shape", ()):
        shape = shapes.check_shape(shape)
        height, width, channels = entry["arguments"]["input_shape"]
        any_size = registry.entry(config.model.name).any_size
        size = shape[:2] if any_size else (height, width)
        same = shape == (*size, channels)
        given["input_shape"] = entry["arguments"]["input_shape"] if same else shape
    for key, trained in entry["arguments"].items():
        if given.get(key, trained) != trained:
            raise errors.UsageError(
                f"The weights {entry['tag']} were trained with {key}={trained}. "
                f"Received: {key}={given[key]}. Leave it out, or name other weights."
            )


def parent(config: ConfigDict) -> entries.Entry | None:
    """Returns the entry of the weights that a config starts from, None without any."""
    found = _find(config)
    return found.entry if found else None


def image_shape(config: ConfigDict) -> tuple[int, int, int] | None:
    """Returns the shape to which images are adapted, None where they are as they are.

    It is `data.image_shape`, else that of the weights to start from; without weights
    that of the network, where the data set is not one of the zoo's.
    """
    if given := tuple(config.data.get("image_shape", ())):
        return given
    if entry := parent(config):
        return tuple(entry["arguments"]["input_shape"])
    if config.data.name in load.names():
        return None
    return registry.entry(config.model.name).default("input_shape")


def load_body(model: keras.Model, config: ConfigDict) -> None:
    """Gives a model the weights that its config names, except for its classifier.

    Raises:
        CorruptError: the file is damaged, or of another network.
    """
    found = _find(config)
    if found is None:
        return
    head = registry.entry(config.model.name).classifier
    expected = h5.shapes(model)
    if head:
        classes = found.entry["arguments"]["num_classes"]
        expected[head] = [(*shape[:-1], classes) for shape in expected[head]]
    arrays = h5.read(found.path, expected, found.entry["sha256"])
    arrays.pop(head, None)
    h5.assign(model, arrays)


def freeze(model: keras.Model, config: ConfigDict) -> None:
    """Keeps layers as they are: `body`, or those whose names have a part of a name.

    Raises:
        UsageError: there are no such layers, or nothing is left to train.
    """
    head = registry.entry(config.model.name).classifier
    layers = [layer for layer in model.layers if layer.weights]
    for name in config.train.get("freeze", ()):
        chosen = [x for x in layers if _is_part(name, x.name)]
        if name == BODY:
            chosen = [x for x in layers if x.name != head]
        if not chosen:
            known = dict.fromkeys(x.name.split("_conv")[0] for x in layers)
            raise errors.unknown("part of train.freeze", name, [BODY, *known])
        for layer in chosen:
            layer.trainable = False
    if not model.trainable_variables:
        raise errors.UsageError(
            f"train.freeze leaves nothing to train. Received: {config.train.freeze}."
        )


def _is_part(name: str, layer: str) -> bool:
    return bool(re.search(rf"(^|_){re.escape(name)}(_|$)", layer))


def _find(config: ConfigDict) -> store.Weights | None:
    weights: Any = config.model.get("weights")
    if not weights:
        return None
    activation = config.model.activation
    return store.find_weights(
        config.model.name,
        weights,
        activation=activation.to_dict() if activation.name else None,
        batch_norm=config.model.batch_norm,
    )
