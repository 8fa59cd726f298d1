"""Precision in which a training step computes. Variables are always float32."""

import keras

from elu_zoo import activations, errors
from elu_zoo.activations.rectifiers import ShiftedReLU
from elu_zoo.layers.dropout import Dropout
from elu_zoo.models.cost import all_layers
from elu_zoo.training.step.pool_before_activation import is_chain

# Classes of the layers that compute in bfloat16, by the name of the precision. The padding
# before a convolution is included, because it then moves half the bytes.
PRECISIONS = {
    "float32": (),
    "bfloat16_conv": (keras.layers.Conv2D, keras.layers.ZeroPadding2D),
    "mixed_bfloat16": (keras.layers.Layer,),
}


def check_precision(name: str) -> None:
    """Checks the name of a precision, and Keras' own policy."""
    errors.check_choice("precision", name, PRECISIONS)
    policy = keras.config.dtype_policy().name
    if policy != "float32":
        raise errors.UsageError(
            f"Keras' dtype policy is {policy}, but train.precision ({name}) sets the precision of "
            'a run. Call keras.config.set_dtype_policy("float32") before training.'
        )


def apply(model: keras.Model, name: str, classifier: str | None = None) -> None:
    """Sets the precision of the layers between preprocessing and classifier.

    Layers that keep values, between the first and the last convolution, also use
    bfloat16 after a bfloat16 layer, because they then move half the bytes. The model must
    not have been called yet. Without the name of a classifier, the last trained layer is it.
    """
    layers = [x for x in all_layers(model) if not isinstance(x, keras.layers.InputLayer)]
    trained = [i for i, x in enumerate(layers) if x.trainable_weights]
    ends = [i for i, x in enumerate(layers) if x.name == classifier]
    body = layers[trained[0] : min(trained[-1:] + ends)]
    reduced = [isinstance(layer, PRECISIONS[name]) for layer in body]
    convs = [i for i, x in enumerate(body) if isinstance(x, keras.layers.Conv2D)]
    for i, layer in enumerate(body):
        if convs and convs[0] < i < convs[-1] and _keeps_values(*body[i : i + 2]):
            follows = reduced[i - 1] and is_chain(body[i - 1 : i + 1])
            reduced[i] = reduced[i] or follows
        if reduced[i]:
            layer.dtype_policy = "mixed_bfloat16"


def _keeps_values(layer: keras.layers.Layer, after: keras.layers.Layer) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.relu
    if type(layer) is Dropout:
        # Rounding commutes with a maximum, so that a pooling need not move float32.
        return type(after) is keras.layers.MaxPooling2D
    # Not a subclass, which may compute another function.
    return type(layer) in (activations.ELU, ShiftedReLU, keras.layers.MaxPooling2D)
