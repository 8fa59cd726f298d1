"""Models that are cut from a network, such as feature extractors."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors, registry

POOLINGS = {"avg": keras.layers.GlobalAveragePooling2D, "max": keras.layers.GlobalMaxPooling2D}


def check(include_top: Any, pooling: Any, features: Any, classifier_activation: Any) -> None:
    """Checks the arguments of `cut` before a network is built."""
    errors.check_bool("include_top", include_top)
    if pooling is not None:
        errors.check_choice("pooling", pooling, POOLINGS)
        if include_top:
            remedy = "Remove pooling" + ", or pass include_top=False too" * (features is None)
            raise errors.UsageError(
                "pooling reduces the maps that a model without its classifier returns. Received: "
                f"pooling={pooling!r}. {remedy}."
            )
    if features is not None and not isinstance(features, str):
        is_list = isinstance(features, Sequence) and not isinstance(features, bytes)
        if not is_list or not features:
            raise errors.UsageError(
                "features must be the name of a layer or a list of such names. "
                f"Received: {features!r}."
            )
    cuts = [features is not None, not include_top, classifier_activation is not None]
    if sum(cuts) > 1:
        raise errors.UsageError(
            "features, include_top=False and classifier_activation exclude each other. "
            "Pass only one of them."
        )


def cut(
    model: keras.Model,
    registered: registry.ModelEntry,
    include_top: bool,
    pooling: str | None,
    features: str | Sequence[str] | None,
    classifier_activation: str | None,
) -> keras.Model:
    """Returns a model with the outputs that the arguments of `get_model` select."""
    if features is not None:
        outputs = _features(model, features)
    elif not include_top:
        outputs = _body(model, registered, pooling)
    else:
        outputs = _activated(model, classifier_activation)
    return keras.Model(model.input, outputs, name=model.name)


def _features(model: keras.Model, features: str | Sequence[str]) -> Any:
    known = [layer.name for layer in model.layers]
    names = [features] if isinstance(features, str) else features
    for name in names:
        errors.check_choice(f"layer of {model.name}", name, known)
    outputs = {name: model.get_layer(name).output for name in names}
    return outputs[features] if isinstance(features, str) else outputs


def _body(model: keras.Model, registered: registry.ModelEntry, pooling: str | None) -> Any:
    """Returns the code of an autoencoder, or the pooled input of the classifier."""
    if registered.is_autoencoder:
        body = model.get_layer(registered.code).output
    else:
        body = model.get_layer(registered.classifier).input
    if pooling is None:
        return body
    if len(body.shape) != 4:
        raise errors.UsageError(
            f"{model.name} without its classifier returns vectors of shape "
            f"{tuple(body.shape)}, not maps. Received: pooling={pooling!r}. Remove pooling."
        )
    return POOLINGS[pooling](name=f"{pooling}_pool", dtype="float32")(body)


def _activated(model: keras.Model, activation: str | None) -> Any:
    try:
        layer = keras.layers.Activation(activation, name="predictions", dtype="float32")
    except ValueError:
        known = ["softmax", "sigmoid", "log_softmax"]
        raise errors.unknown_name_error("classifier_activation", activation, known) from None
    return layer(model.output)
