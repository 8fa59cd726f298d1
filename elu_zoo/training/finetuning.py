"""Fine-tuning: the pretrained weights from which a run starts, and frozen layers."""

import dataclasses
import re
from collections.abc import Mapping
from inspect import Parameter
from typing import Any

import keras
from absl import logging
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.data import order, shapes
from elu_zoo.weights import manifest, pretrained
from elu_zoo.weights.pretrained import Pretrained


def fill_from_parent(config: ConfigDict) -> tuple[ConfigDict, Pretrained | None]:
    """Returns a config without open fields, and its parent weights or None.

    Values of open fields ("" or None) come from the parent weights, which the field
    `model.weights` names, or else from the builder's defaults. The parent weights are
    returned without their classifier.
    """
    config = config.copy_and_resolve_references()
    model = config.model
    parameters = registry.entry(model.name).parameters
    arguments = {name: p.default for name, p in parameters.items()}
    parent = pretrained.find(
        model.name,
        model.weights or None,
        activation=model.activation.to_dict() if model.activation.name else None,
        batch_norm=model.get("batch_norm"),
    )
    if parent:
        parent = dataclasses.replace(parent, has_classifier=False)
        arguments |= parent.arguments
    with config.unlocked():
        if parent or not model.activation.name:
            activation = arguments["activation"]
            if isinstance(activation, str):
                activation = {"name": activation}
            if model.activation.name == "elu_xla":  # described as `elu` in the entry
                activation = {**activation, "name": "elu_xla"}
            own = {k: v for k, v in model.activation.items() if k == "alpha" and v is not None}
            model.activation = ConfigDict({"alpha": None, **activation, **own})
        for key in [key for key in model if model[key] is None]:
            model[key] = arguments[key]
        if parent:
            _add_arguments(model, parent.arguments, parameters)
            if registry.entry(model.name).is_autoencoder:
                config.train.loss = parent.loss  # it decides what the outputs mean
    requested = model.to_dict()
    if config.data.get("image_shape", ()):
        requested["input_shape"] = _resolve_shape(config, parent)
    if parent:
        parent.merged(requested)
    return config, parent


def _resolve_shape(config: ConfigDict, parent: Pretrained | None) -> tuple[int, int, int]:
    """Completes `data.image_shape` with the channels, and checks that it fits."""
    registered, shape = registry.entry(config.model.name), config.data.image_shape
    usual = registered.default("input_shape")
    if parent:
        usual = tuple(parent.arguments["input_shape"])
    if len(shape) == 2:
        shape = *shape, usual[2]
    shape = config.data.image_shape = shapes.check_shape(shape)
    if min(shape[:2]) < shapes.MIN_SIDE:
        raise errors.UsageError(
            f"Images must have at least {shapes.MIN_SIDE} pixels on each side. "
            f"Received: {shape[0]} x {shape[1]}. Use a larger size."
        )
    if parent and shape[:2] != usual[:2] and not registered.any_size:
        nets = sorted({entry["model"] for entry in manifest.published().values()})
        others = [name for name in nets if registry.entry(name).any_size]
        raise errors.UsageError(
            f"The weights {parent.name} fit images of {usual[0]} x {usual[1]} pixels "
            f"only. Received: {shape[0]} x {shape[1]}. Remove the size, or fine-tune a "
            f"network whose weights fit any size: {', '.join(others)}."
        )
    return (*usual[:2], shape[2])  # `merged` compares the rest


def _add_arguments(
    model: ConfigDict, trained: dict[str, Any], parameters: Mapping[str, Parameter]
) -> None:
    """Adds the parent's arguments for which the network's own config has no field."""
    for key, value in trained.items():
        known = key in parameters and key not in ("num_classes", "input_shape")
        if known and key not in model:
            is_list = isinstance(parameters[key].default, list)  # JSON has no tuples
            model[key] = value if is_list or not isinstance(value, list) else (*value,)


def fit_batch(config: ConfigDict, examples: int, parts: int) -> ConfigDict:
    """Returns a config of fine-tuning whose batches fit the images, the boundary and `parts`."""
    size, train = config.train.batch_size, config.train
    if config.model.weights is None or examples // size * train.epochs > bool(train.boundaries):
        return config
    config = config.copy_and_resolve_references()
    smaller = order.smaller_batch_size(examples)
    config.train.batch_size = max(parts, smaller - smaller % parts)
    logging.warning(
        "%d training images are too few for batches of %d. The batch size is reduced to "
        "%d. Set --config.train.batch_size for another batch size.",
        *(examples, size, config.train.batch_size),
    )
    return config


def freeze(model: keras.Model, config: ConfigDict) -> None:
    """Freezes the layers that `train.freeze` names, or all but the classifier (`body`)."""
    classifier = registry.entry(config.model.name).classifier
    layers = [layer for layer in model.layers if layer.weights]
    for name in config.train.freeze:
        if name == "body":
            chosen = [x for x in layers if x.name not in (classifier, f"act_{classifier}")]
        else:
            part = re.compile(rf"(^|_){re.escape(name)}(_|$)")
            chosen = [x for x in layers if part.search(x.name)]
        if not chosen:
            parts = dict.fromkeys(x.name.split("_conv")[0] for x in layers)
            raise errors.unknown_name_error("part of train.freeze", name, ["body", *parts])
        for layer in chosen:
            layer.trainable = False
    if not model.trainable_variables:
        raise errors.UsageError(
            "train.freeze freezes every layer with weights. Received: "
            f"{config.train.freeze}. Remove a name."
        )
