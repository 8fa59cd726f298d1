"""Fine-tuning: what a run takes from pretrained weights, and what it freezes."""

import dataclasses
import re

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import load, shapes
from elu_zoo.weights import pretrained
from elu_zoo.weights.pretrained import Pretrained

BODY = "body"


def resolved(config: ConfigDict) -> tuple[ConfigDict, Pretrained | None]:
    """Returns a config with nothing left open, and the weights that it starts from.

    A config with a field `model.weights` may leave activation, normalisation, width and
    other arguments of the network open, as "" or None. In the returned copy they are
    those of the weights, without weights those of the builder.

    Returns:
        The config, and its weights without their classifier; None without weights.

    Raises:
        UsageError: there are no such weights, or the config contradicts them.
        CorruptError: the weights have no entry.
    """
    if config.get("model", {}).get("weights") is None:
        return config, None
    config = config.copy_and_resolve_references()
    model = config.model
    parameters = registry.entry(model.name).parameters
    found = {name: p.default for name, p in parameters.items()}
    parent = pretrained.find(
        model.name,
        model.weights or None,
        activation=model.activation.to_dict() if model.activation.name else None,
        batch_norm=model.batch_norm,
    )
    if parent:
        parent = dataclasses.replace(parent, has_classifier=False)
        found |= parent.entry["arguments"]
    with config.unlocked():
        if parent or not model.activation.name:
            activation = found["activation"]
            is_name = isinstance(activation, str)
            model.activation = ConfigDict(
                {"name": activation, "alpha": None} if is_name else activation
            )
            if "alpha" not in model.activation:
                model.activation.alpha = None
        for key in [key for key in model if model[key] is None]:
            model[key] = found[key]
    if parent:
        asked = model.to_dict()
        if shape := config.data.get("image_shape", ()):
            asked["input_shape"] = shapes.check_shape(shape)
        parent.merged(asked)
    return config, parent


def image_shape(
    config: ConfigDict, parent: Pretrained | None
) -> tuple[int, int, int] | None:
    """Returns the shape to which images are resized, None for their own shape.

    It is `data.image_shape`, else the shape that the weights were trained on. Without
    weights it is the network's own for images that are not one of the zoo's data sets.
    """
    if given := tuple(config.data.get("image_shape", ())):
        return given
    if parent:
        return tuple(parent.entry["arguments"]["input_shape"])
    if config.data.name in load.names():
        return None
    return registry.entry(config.model.name).default("input_shape")


def freeze(model: keras.Model, config: ConfigDict) -> None:
    """Freezes the layers that `train.freeze` names.

    A name is `body`, for all layers but the classifier, or a part of layers' names.

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
