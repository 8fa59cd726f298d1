"""Building blocks of networks: linear layers, normalisation, dropout, classifiers."""

import functools
from typing import Any

import keras

from elu_zoo import activations, errors
from elu_zoo.initializers import layer_seed
from elu_zoo.layers.dropout import Dropout
from elu_zoo.registry import CONV_DTYPES

HEADS = "heads"  # the layer that stacks the scores of the auxiliary heads


def scaled_units(units: int, width: float) -> int:
    """Returns the number of units of a layer at this relative width."""
    return max(1, round(units * width))


def convolution(
    x,
    units: int,
    kernel_size: int,
    name: str,
    initial: keras.initializers.Initializer,
    *,
    zeros: int | None = None,
    stride: int = 1,
    kernel_decay: float = 0.0,
    dtype: str | None = None,
    **arguments: Any,
):
    """Returns the output of a convolution.

    Args:
        zeros: number of rows and columns of zeros that a layer `<name>_pad` adds on
            each side; None for "same" padding.
        kernel_decay: coefficient d of the L2 penalty d / 2 * ||kernel||^2.
    """
    if zeros:
        # Explicit padding inside the convolution is far slower in bfloat16.
        x = keras.layers.ZeroPadding2D(zeros, name=f"{name}_pad", dtype=dtype)(x)
    return keras.layers.Conv2D(
        units,
        kernel_size,
        strides=stride,
        padding="same" if zeros is None else "valid",
        kernel_initializer=initial,
        kernel_regularizer=_penalty(kernel_decay),
        dtype=dtype,
        name=name,
        **arguments,
    )(x)


def convolution_with(kernel_decay: float, conv_dtype: str) -> functools.partial:
    """Returns `convolution` with a penalty and with products in `conv_dtype`."""
    return functools.partial(convolution, kernel_decay=kernel_decay, dtype=CONV_DTYPES[conv_dtype])


def dense(
    x,
    units: int,
    name: str,
    initial: keras.initializers.Initializer,
    *,
    kernel_decay: float = 0.0,
    dtype: str | None = None,
    **arguments: Any,
):
    """Returns the output of a dense layer; see `convolution` for the arguments."""
    return keras.layers.Dense(
        units,
        kernel_initializer=initial,
        kernel_regularizer=_penalty(kernel_decay),
        dtype=dtype,
        name=name,
        **arguments,
    )(x)


def _penalty(kernel_decay: float) -> keras.regularizers.Regularizer | None:
    return keras.regularizers.L2(kernel_decay / 2) if kernel_decay else None


def norm_act(x, name: str, activation: Any, batch_norm: bool, seed: int, dtype: str | None = None):
    """Returns the output of the layer `act_<name>`, after `norm_<name>` with `batch_norm`."""
    x = norm(x, name, batch_norm)
    act_name = f"act_{name}"
    layer = activations.make(activation, act_name, seed=layer_seed(seed, act_name))
    if dtype:
        layer.dtype_policy = dtype
    y = layer(x)
    if y.shape != x.shape:
        raise errors.UsageError(
            "An activation must keep the shape of its input. The layer "
            f"{layer.name} of type {type(layer).__name__} turned {x.shape} into "
            f"{y.shape}. Pass another activation."
        )
    return y


def norm(x, name: str, batch_norm: bool):
    """Returns the output of the layer `norm_<name>`, or `x` without `batch_norm`.

    On TensorFlow the batch statistics are computed over all replicas.
    """
    if not batch_norm:
        return x
    # Keras raises an error for synchronized=True on other backends.
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        synchronized=keras.backend.backend() == "tensorflow",
        name=f"norm_{name}",
    )(x)


def dropout(x, rate: float, name: str, seed: int, **arguments: Any):
    """Returns the output of a `Dropout` layer.

    The layer exists even at a rate of 0, because a later phase may change the rate.
    """
    return Dropout(rate, seed=layer_seed(seed, name), name=name, **arguments)(x)


def classifier(x, num_classes: int, initial: keras.initializers.Initializer, **arguments: Any):
    """Returns float32 logits, the output of the dense layer `classifier`."""
    return dense(x, num_classes, "classifier", initial, dtype="float32", **arguments)


def classifier_maps(x, num_classes: int, initial: keras.initializers.Initializer, **arguments: Any):
    """Returns float32 class maps, the output of the 1 x 1 convolution `classifier`."""
    return convolution(x, num_classes, 1, "classifier", initial, dtype="float32", **arguments)


def average(maps):
    """Returns the float32 mean of each map, the output of the layer `average`."""
    return keras.layers.GlobalAveragePooling2D(name="average", dtype="float32")(maps)


def remove_heads(model: keras.Model) -> keras.Model:
    """Returns the network without its auxiliary heads, or `model` if it has none."""
    last = model.layers[-1]
    if last.name != HEADS:
        return model
    scores, *_ = last.input
    return keras.Model(model.input, scores, name=model.name)
