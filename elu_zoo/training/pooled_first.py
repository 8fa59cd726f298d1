"""Max-pooling moved in front of the activation: equal outputs for less work."""

import inspect

import keras

from elu_zoo import activations
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU


def pooled_first(model: keras.Model) -> keras.Model:
    """Returns an equal model in which max-pooling precedes monotonic activations.

    A monotonic activation commutes with a maximum. After the pooling it computes one
    value instead of four, forward and backward. Layers and variables are shared with
    the given model.

    Args:
        model: a built model. It is returned unchanged if it is no chain of layers, or
            has no monotonic activation in front of max-pooling.
    """
    layers = list(model.layers)
    if not is_chain(layers) or not _ends_with_its_last_layer(model):
        return model
    for i in range(len(layers) - 1):
        pools = isinstance(layers[i + 1], keras.layers.MaxPooling2D)
        if pools and _is_monotonic(layers[i]):
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    return model if layers == model.layers else _Chain(layers, model)


class _Chain(keras.Model):
    """Layers called one after the other. They may belong to another model too."""

    def __init__(self, layers: list[keras.layers.Layer], model: keras.Model):
        super().__init__(name=model.name)
        self.chain = layers
        self.input_shape = model.input_shape
        self.built = True

    def call(self, inputs, training=None):
        for layer in self.chain:
            if isinstance(layer, keras.layers.InputLayer):
                continue
            # In a pure call layers do not get `training` from their model.
            takes = "training" in inspect.signature(layer.call).parameters
            inputs = layer(inputs, **({"training": training} if takes else {}))
        return inputs


def is_chain(layers: list[keras.layers.Layer]) -> bool:
    """Whether the only input of each layer is the output of the layer before it."""
    try:
        return all(
            after.input is before.output
            for before, after in zip(layers, layers[1:], strict=False)
        )
    except (AttributeError, ValueError):  # a layer is called twice, or never
        return False


def _ends_with_its_last_layer(model: keras.Model) -> bool:
    outputs = getattr(model, "outputs", None) or []
    return len(outputs) == 1 and outputs[0] is model.layers[-1].output


def _is_monotonic(layer: keras.layers.Layer) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.relu
    return isinstance(layer, activations.ELU | LeakyReLU | ShiftedReLU)
