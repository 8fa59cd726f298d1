"""The unit of every network: a linear layer, its norm, its activation."""

from typing import Any

import keras

from elu_zoo import activations
from elu_zoo.initializers import layer_seed


def activated(x, name: str, activation: Any, batch_norm: bool, seed: int):
    """Returns the activation of a linear layer's output.

    Args:
        x: the output of the layer `name`.
        name: with `batch_norm` the norm is `norm_<name>`; the activation is
            `act_<name>`.
        activation: see `elu_zoo.activations.make`.
        batch_norm: normalise before the activation, over the whole batch of all
            replicas.
        seed: the run's seed.
    """
    if batch_norm:
        # Keras synchronises replicas on TensorFlow only; elsewhere it refuses to.
        x = keras.layers.BatchNormalization(
            momentum=0.9,
            epsilon=1e-5,
            synchronized=keras.backend.backend() == "tensorflow",
            name=f"norm_{name}",
        )(x)
    act_name = f"act_{name}"
    return activations.make(activation, act_name, seed=layer_seed(seed, act_name))(x)
