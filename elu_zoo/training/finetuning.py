"""Fine-tuning: the parent weights of a run, and its frozen layers."""

import dataclasses
import re

import keras
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import load, shapes
from elu_zoo.weights import pretrained
from elu_zoo.weights.pretrained import Pretrained

BODY = "body"


def resolve(config: ConfigDict) -> tuple[ConfigDict, Pretrained | None]:
    """Returns a config without open fields, and its parent weights.

    In a config with a field `model.weights` the activation and arguments of the network
    may be open ("" or None). Their values come from the parent weights, or without
    weights from the builder's defaults. The parent weights have no classifier.

    Raises:
        UsageError: the weights do not exist, or the config contradicts them.
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
            if isinstance(activation, str):
                activation = {"name": activation}
            model.activation = ConfigDict({"alpha": None, **activation})
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
    """Returns the shape to which images are resized, or None.

    The first that is known of: `data.image_shape`, the shape of the parent weights,
    None for a data set of the zoo, the default shape of the network.
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

    A name is part of a layer's name, or `body`: all layers but the classifier.

    Raises:
        UsageError: no layer has this name, or no layer is left to train.
    """
    classifier = registry.entry(config.model.name).classifier
    layers = [layer for layer in model.layers if layer.weights]
    for name in config.train.get("freeze", ()):
        if name == BODY:
            chosen = [x for x in layers if x.name != classifier]
        else:
            part = re.compile(rf"(^|_){re.escape(name)}(_|$)")
            chosen = [x for x in layers if part.search(x.name)]
        if not chosen:
            known = dict.fromkeys(x.name.split("_conv")[0] for x in layers)
            raise errors.unknown("part of train.freeze", name, [BODY, *known])
        for layer in chosen:
            layer.trainable = False
    if not model.trainable_variables:
        raise errors.UsageError(
            f"train.freeze leaves nothing to train. Received: {config.train.freeze}."
        )
