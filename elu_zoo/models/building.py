"""Building of a registered network, with initial or pretrained weights."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex, TypedDict

import keras

from elu_zoo import errors
from elu_zoo.registry import ModelEntry
from elu_zoo.weights import manifest
from elu_zoo.weights.pretrained import Pretrained


class BuilderArguments(TypedDict, total=False):
    """The arguments of all networks, see `get_model`; None stands for the default."""

    activation: str | Mapping[str, Any] | Callable[..., Any] | None
    batch_norm: bool | None
    num_classes: SupportsIndex | None
    input_shape: Sequence[int | None] | None
    width: SupportsFloat | None
    seed: SupportsIndex | None
    kernel_decay: SupportsFloat | None
    auxiliary_heads: bool
    classifier_decay: SupportsFloat
    classifier_deviation: SupportsFloat
    constrained: bool
    deviations: Sequence[float]
    dropout: float | Sequence[float]
    dropout_placement: str
    filters: SupportsIndex
    first_deviation: SupportsFloat
    hidden_layers: SupportsIndex
    init_scale: SupportsFloat | None
    padding: str
    regions: str
    spp_levels: Sequence[int]
    stem_stride: SupportsIndex


def build(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained | None
) -> keras.Model:
    """Returns a network with pretrained weights, or with its seeded initial weights.

    The builder's arguments include those recorded with the weights.
    """
    try:
        return _build_and_load(registered, arguments, weights)
    except ValueError as error:
        # Errors of Keras' layers and of ours.
        if not re.search(r"output size would be|channels\) of at least", str(error)):
            raise
        height, width, _ = arguments.get("input_shape") or registered.default("input_shape")
        raise errors.UsageError(
            f"Images of {height} x {width} pixels are too small for {registered.name} with "
            "these arguments. Use larger images."
        ) from error


def _build_and_load(
    registered: ModelEntry, arguments: dict[str, Any], weights: Pretrained | None
) -> keras.Model:
    if weights is None:
        return _build(registered, arguments)
    from elu_zoo.models import loading

    if weights.entry and weights.name not in manifest.published():
        model = loading.build_unpublished(registered, arguments, weights, _build)
    else:
        model = _build(registered, arguments)
    loading.load(model, registered, arguments, weights)
    return model


def _build(registered: ModelEntry, arguments: dict[str, Any]) -> keras.Model:
    try:
        model, needed = registered.builder(**arguments), registered.classifier or registered.code
        if all(layer.name != needed for layer in model.layers):
            raise errors.UsageError(f"{registered.name} must have a layer named {needed!r}.")
        return model
    except errors.NotFoundError as error:
        raise errors.NotFoundError(
            f"{registered.name} preprocesses raw images with statistics that are not on this "
            f"machine. {error} Pass preprocessing=False to build a network for preprocessed images."
        ) from error
    except MemoryError as error:
        raise errors.ResourceError(
            f"The weights of {registered.name} do not fit into memory: {error}. "
            "Pass a smaller width, input_shape or num_classes."
        ) from error
