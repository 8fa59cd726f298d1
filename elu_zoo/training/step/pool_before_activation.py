"""Faster max-pooling with equal outputs: before the activation, and in other code."""

import inspect
from typing import Any

import keras

from elu_zoo import activations
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU, VeryLeakyReLU

# Not their subclasses, which may compute another function.
_MONOTONIC = activations.ELU, LeakyReLU, VeryLeakyReLU, ShiftedReLU


def pool_before_activation(model: keras.Model, pooling: Any = None) -> keras.Model:
    """Returns an equal model in which max-pooling precedes monotonic activations.

    After a 2x2 pooling an activation computes one value instead of four. The returned
    model shares layers with `model`; a model that is no chain is returned as it is.
    `pooling` is a module such as `jax_pooling`, or None for Keras' pooling.
    """
    layers = list(model.layers)
    outputs = getattr(model, "outputs", None) or []
    if not is_chain(layers) or len(outputs) != 1 or outputs[0] is not layers[-1].output:
        return model
    for i in range(len(layers) - 1):
        is_pooling = type(layers[i + 1]) is keras.layers.MaxPooling2D
        if is_pooling and _is_monotonic(layers[i]):
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    replaced = any(map(pooling.replaces, layers)) if pooling else False
    unchanged = layers == model.layers and not replaced
    return model if unchanged else _Chain(layers, model, pooling)


class _Chain(keras.Model):
    """A model that calls layers in order, and shares the layers with `model`."""

    def __init__(self, layers: list[keras.layers.Layer], model: keras.Model, pooling: Any):
        super().__init__(name=model.name)
        self.chain = layers
        self.pooling = pooling
        self.input_shape = model.input_shape
        self.built = True

    def call(self, inputs, training=None):
        for layer in self.chain:
            if isinstance(layer, keras.layers.InputLayer):
                continue
            if self.pooling and self.pooling.replaces(layer):
                inputs = keras.ops.cast(inputs, layer.compute_dtype)
                inputs = self.pooling.max_pool(inputs)
                continue
            # `stateless_call` does not pass `training` on to layers by itself.
            takes_training = "training" in inspect.signature(layer.call).parameters
            inputs = layer(inputs, **({"training": training} if takes_training else {}))
        return inputs


def is_chain(layers: list[keras.layers.Layer]) -> bool:
    """Whether the only input of each layer is the output of the layer before it."""
    try:
        return all(
            after.input is before.output for before, after in zip(layers, layers[1:], strict=False)
        )
    except (AttributeError, ValueError):  # a layer was called twice or never
        return False


def _is_monotonic(layer: keras.layers.Layer) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.relu
    return type(layer) in _MONOTONIC
