"""Models that are cut from a network, such as feature extractors."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors, registry

POOLINGS = {
    "avg": keras.layers.GlobalAveragePooling2D,
    "max": keras.layers.GlobalMaxPooling2D,
}


def check(include_top: Any, pooling: Any, features: Any, classifier_activation: Any) -> None:
    """Checks the arguments of `cut` before a network is built."""
    errors.check_bool("include_top", include_top)
    if pooling is not None:
        errors.check_choice("pooling", pooling, POOLINGS)
        if include_top:
            raise errors.UsageError(
                "pooling reduces the maps that a model without its classifier returns. "
                f"Received: pooling={pooling!r}. Pass include_top=False too, or remove "
                "pooling."
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
        names = [features] if isinstance(features, str) else list(features)
        known = [layer.name for layer in model.layers]
        for layer_name in names:
            if layer_name not in known:
                raise errors.unknown_name_error(f"layer of {model.name}", layer_name, known)
        outputs = {n: model.get_layer(n).output for n in names}
        if isinstance(features, str):
            outputs = outputs[features]
        return keras.Model(model.input, outputs, name=model.name)
    if not include_top:
        if registered.is_autoencoder:
            body = model.get_layer(registered.code).output
        elif registered.classifier:
            body = model.get_layer(registered.classifier).input
        else:
            raise errors.UsageError(
                f"include_top=False is not possible for {model.name}, which was "
                "registered without a classifier or a code. Pass features=<layer>."
            )
        if pooling:
            if len(body.shape) != 4:
                raise errors.UsageError(
                    f"{model.name} without its classifier returns vectors of shape "
                    f"{tuple(body.shape)}, not maps. Received: pooling={pooling!r}. "
                    "Remove pooling."
                )
            body = POOLINGS[pooling](name=f"{pooling}_pool", dtype="float32")(body)
        return keras.Model(model.input, body, name=model.name)
    if classifier_activation is not None:
        arguments = {"name": "predictions", "dtype": "float32"}
        try:
            layer = keras.layers.Activation(classifier_activation, **arguments)
        except ValueError:
            known = ["softmax", "sigmoid", "log_softmax"]
            name = "classifier_activation"
            raise errors.unknown_name_error(name, classifier_activation, known) from None
        return keras.Model(model.input, layer(model.output), name=model.name)
    return model
