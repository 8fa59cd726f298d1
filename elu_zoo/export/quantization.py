"""Quantization of LiteRT files, whose preprocessing keeps the precision of float32.

With an int8 whitening matrix elu_cifar_11 loses nine points of its accuracy on
CIFAR-100, because whitened pixels are small differences of large sums. In float16 the
contrast normalization of a black image is NaN.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.export import joining
from elu_zoo.export.named_outputs import NamedOutputs
from elu_zoo.layers.data_statistics import MeanSubtraction, ZCAWhitening
from elu_zoo.layers.normalization import GlobalContrastNormalization
from elu_zoo.models.cost import all_layers

PREPROCESSING = (GlobalContrastNormalization, MeanSubtraction, ZCAWhitening)
TOLERANCE = {"dynamic": 0.05, "float16": 2e-3}  # of `checks.compare`

Convert = Callable[..., bytes]


def check(function: NamedOutputs) -> None:
    """Checks that a model can be quantized."""
    layers = [x for x in all_layers(function.model) if isinstance(x, PREPROCESSING)]
    nested = [x.name for x in layers if x not in function.model.layers]
    if nested:
        raise errors.UsageError(
            "A quantized file needs preprocessing in layers of the model itself, but "
            f"{nested[0]} is in a model inside it. Build one model, for example "
            "by get_model(..., num_classes=...)."
        )


def write(function: NamedOutputs, kind: str, convert: Convert) -> bytes:
    """Returns a quantized LiteRT file.

    - `dynamic`: int8 kernels. Activations are quantized while the file runs.
    - `float16`: float16 kernels and float32 activations.

    Layers up to the last one of `PREPROCESSING` keep float32. Whitening computes in
    float32 as well. Its mean and matrix are stored in float16 without a loss, because
    statistics files hold float16 values.

    Args:
        convert: a function from outputs, and attributes of `tf.lite.TFLiteConverter` as
            keywords, to a LiteRT file.
    """
    model = function.model
    layers = [layer for layer in model.layers if isinstance(layer, PREPROCESSING)]
    if not layers:
        return convert(function, **_options(kind))
    (start,), border = model.inputs, layers[-1]
    end = border.output
    parts: list[tuple[Any, Any, dict]] = [(start, end, {})]
    if isinstance(border, ZCAWhitening):
        parts = [(start, border.input, {}), (border.input, end, _options("float16"))]
    converted = [
        convert(_part(function, first, last), **options)
        for first, last, options in parts
        if first is not last
    ]
    network = dataclasses.replace(function, model=keras.Model(end, model.outputs))
    converted.append(convert(network, **_options(kind)))
    return functools.reduce(joining.join, converted)


def _part(function: NamedOutputs, first: Any, last: Any) -> NamedOutputs:
    """Returns a function that has only the layers between two tensors of the model."""
    return dataclasses.replace(
        function,
        model=keras.Model(first, last),
        read=lambda output: {"preprocessed": output},
        compared=("preprocessed",),
    )


def _options(kind: str) -> dict[str, Any]:
    """Returns attributes of `tf.lite.TFLiteConverter`."""
    options: dict[str, Any] = {"optimizations": [tf.lite.Optimize.DEFAULT]}
    if kind == "float16":
        options["target_spec"] = {"supported_types": [tf.float16]}
    return options
