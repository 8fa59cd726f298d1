"""Max-pooling before the unit instead of after it: equal values for less work."""

import inspect

import keras

from elu_zoo import activations
from elu_zoo.activations.rectifiers import LeakyReLU, ShiftedReLU


def pooled_first(model: keras.Model) -> keras.Model:
    """Returns what a model computes, with each unit after the pooling it precedes.

    A unit that grows with its input commutes with a maximum: of four values only the
    largest has to pass it, forth and back, and only its input has to be kept. Layers
    and variables are the model's own.

    Args:
        model: a built model. One that is not a chain of layers is returned as it is,
            as is one without such a unit.
    """
    layers = list(model.layers)
    if not is_chain(layers) or not _gives_the_last(model):
        return model
    for i in range(len(layers) - 1):
        if _grows(layers[i]) and isinstance(layers[i + 1], keras.layers.MaxPooling2D):
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    return model if layers == model.layers else _Chain(layers, model)


class _Chain(keras.Model):
    """Layers one after the other; unlike in a graph they may be another's as well."""

    def __init__(self, layers: list[keras.layers.Layer], model: keras.Model):
        super().__init__(name=model.name)
        self.chain = layers
        self.input_shape = model.input_shape
        self.built = True

    def call(self, inputs, training=None):
        for layer in self.chain:
            if isinstance(layer, keras.layers.InputLayer):
                continue
            # Said to each: in a pure call layers do not know it of their model.
            learns = "training" in inspect.signature(layer.call).parameters
            inputs = layer(inputs, **({"training": training} if learns else {}))
        return inputs


def is_chain(layers: list[keras.layers.Layer]) -> bool:
    """Whether each layer takes what the one before it gives, and nothing else."""
    try:
        return all(
            after.input is before.output
            for before, after in zip(layers, layers[1:], strict=False)
        )
    except (AttributeError, ValueError):  # of a layer that is called twice, or never
        return False


def _gives_the_last(model: keras.Model) -> bool:
    outputs = getattr(model, "outputs", None) or []
    return len(outputs) == 1 and outputs[0] is model.layers[-1].output


def _grows(layer: keras.layers.Layer) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.relu
    return isinstance(layer, activations.ELU | LeakyReLU | ShiftedReLU)
