"""Blocks of the networks: linear layers, norm with activation, dropout, heads."""

from typing import Any

import keras

from elu_zoo import activations, errors
from elu_zoo.initializers import layer_seed
from elu_zoo.layers import Dropout

HEADS = "heads"  # the layer that stacks the scores of output and auxiliary heads


def scaled_units(units: int, width: float) -> int:
    """Returns the units of a layer in a network of this relative width."""
    return max(1, round(units * width))


def convolution(
    x,
    units: int,
    field: int,
    name: str,
    initial: keras.initializers.Initializer,
    *,
    zeros: int | None = None,
    stride: int = 1,
    kernel_decay: float = 0.0,
    dtype: str | None = None,
    **arguments: Any,
):
    """Returns `units` maps of `x`, from `field` x `field` pixels each.

    Args:
        x: `(batch, height, width, channels)`.
        units: number of maps.
        field: side of the receptive field.
        name: of the layer.
        initial: of the kernel; biases start at 0 unless `arguments` say otherwise.
        zeros: rows and columns of zeros on each side of the maps, a layer
            `<name>_pad`; None for "same" padding.
        stride: in pixels.
        kernel_decay: d of the L2 penalty d / 2 * |kernel|^2.
        dtype: Keras' dtype policy of the layer; None for the global one.
        **arguments: of `keras.layers.Conv2D`.
    """
    if zeros:
        # Padding within the convolution is far slower in bfloat16.
        x = keras.layers.ZeroPadding2D(zeros, name=f"{name}_pad", dtype=dtype)(x)
    return keras.layers.Conv2D(
        units,
        field,
        strides=stride,
        padding="same" if zeros is None else "valid",
        kernel_initializer=initial,
        kernel_regularizer=_penalty(kernel_decay),
        dtype=dtype,
        name=name,
        **arguments,
    )(x)


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
    """Returns `units` weighted sums of `x`, `(batch, features)`.

    The arguments are those of `convolution`, `arguments` of `keras.layers.Dense`.
    """
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


def norm_act(
    x,
    name: str,
    activation: Any,
    batch_norm: bool,
    seed: int,
    dtype: str | None = None,
):
    """Returns norm and activation of a linear layer's output.

    Args:
        x: the output of the layer `name`.
        name: with `batch_norm` the norm is `norm_<name>`; the activation is
            `act_<name>`.
        activation: see `elu_zoo.activations.make`.
        batch_norm: see `norm`.
        seed: the run's seed.
        dtype: Keras' dtype policy of the activation; None for the global one.

    Raises:
        UsageError: the activation gives another shape.
    """
    x = norm(x, name, batch_norm)
    act_name = f"act_{name}"
    layer = activations.make(activation, act_name, seed=layer_seed(seed, act_name))
    if dtype:
        layer.dtype_policy = dtype
    y = layer(x)
    if y.shape != x.shape:
        raise errors.UsageError(
            f"An activation keeps the shape of what it is given; {layer.name}, of "
            f"{type(layer).__name__}, makes {y.shape} of {x.shape}."
        )
    return y


def norm(x, name: str, batch_norm: bool):
    """Returns the output of `norm_<name>` with `batch_norm`, else `x`.

    The statistics are those of the whole batch of all replicas.
    """
    if not batch_norm:
        return x
    # Keras synchronises replicas on TensorFlow only; elsewhere it refuses to.
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        synchronized=keras.backend.backend() == "tensorflow",
        name=f"norm_{name}",
    )(x)


def dropout(x, rate: float, name: str, seed: int, **arguments: Any):
    """Returns the output of a `Dropout` layer, which is there at a rate of 0 too."""
    # A later phase of the training may set another rate.
    return Dropout(rate, seed=layer_seed(seed, name), name=name, **arguments)(x)


def classifier(
    x,
    num_classes: int,
    initial: keras.initializers.Initializer,
    **arguments: Any,
):
    """Returns float32 logits, the output of the dense layer `classifier`.

    The loss wants float32 whatever the precision of the layers before. `arguments`
    are those of `dense`.
    """
    return dense(x, num_classes, "classifier", initial, dtype="float32", **arguments)


def classifier_maps(
    x,
    num_classes: int,
    initial: keras.initializers.Initializer,
    **arguments: Any,
):
    """Returns a float32 map a class, the output of the 1 x 1 convolution `classifier`.

    The loss wants float32 whatever the precision of the layers before. `arguments`
    are those of `convolution`.
    """
    how = {"dtype": "float32", **arguments}
    return convolution(x, num_classes, 1, "classifier", initial, **how)


def average(maps):
    """Returns the float32 mean of each map, the output of the layer `average`."""
    return keras.layers.GlobalAveragePooling2D(name="average", dtype="float32")(maps)


def deployed(model: keras.Model) -> keras.Model:
    """Returns a network without its auxiliary heads; any other network as it is."""
    last = model.layers[-1]
    if last.name != HEADS:
        return model
    scores, *_ = last.input
    return keras.Model(model.input, scores, name=model.name)
