"""The unit of every network: a linear layer, its norm, its activation."""

from typing import Any

import keras

from elu_zoo import activations, errors
from elu_zoo.initializers import layer_seed


def activated(
    x,
    name: str,
    activation: Any,
    batch_norm: bool,
    seed: int,
    dtype: str | None = None,
):
    """Returns the activation of a linear layer's output.

    Args:
        x: the output of the layer `name`.
        name: with `batch_norm` the norm is `norm_<name>`; the activation is
            `act_<name>`.
        activation: see `elu_zoo.activations.make`.
        batch_norm: see `normalized`.
        seed: the run's seed.
        dtype: of the activation; that of Keras' policy unless given.

    Raises:
        UsageError: the activation gives another shape.
    """
    x = normalized(x, name, batch_norm)
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


def normalized(x, name: str, batch_norm: bool):
    """Returns the output of `norm_<name>` with `batch_norm`, else `x`.

    It normalises over the whole batch of all replicas.
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
