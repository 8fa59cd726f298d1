"""Precision in which a training step computes. Variables are float32 always."""

import keras

from elu_zoo import activations, errors
from elu_zoo.activations.rectifiers import ShiftedReLU
from elu_zoo.training.pooled_first import is_chain

# The padding before a convolution too: it then moves half of the bytes.
_CONVOLUTION = (keras.layers.Conv2D, keras.layers.ZeroPadding2D)
# name: the layers that compute in bfloat16
PRECISIONS = {
    "float32": (),
    "bfloat16_conv": _CONVOLUTION,
    "bfloat16_matmuls": (*_CONVOLUTION, keras.layers.Dense),
    "mixed_bfloat16": (keras.layers.Layer,),
}


def check(name: str) -> None:
    """Checks the name of a precision, and that Keras' own policy is float32.

    Raises:
        UsageError: one of them is wrong.
    """
    errors.check_choice("precision", name, PRECISIONS)
    policy = keras.config.dtype_policy().name
    if policy != "float32":
        raise errors.UsageError(
            f"Keras' policy is {policy}, but train.precision {name} sets the precision "
            'of a run. Call keras.config.set_dtype_policy("float32") before training.'
        )


def apply(model: keras.Model, name: str, classifier: str | None = None) -> None:
    """Sets the precision of the body of a float32 model.

    The body lies between preprocessing and classifier, which stay in float32: pixels
    and outputs keep their digits.

    Between convolutions, layers that only select values compute in bfloat16 too, as
    does the ELU, which uses float32 inside. This halves the bytes that they move.
    Outputs are equal; with dropout, training rounds values once more.

    Args:
        model: changed in place, before it is first called.
        name: a name of `PRECISIONS`.
        classifier: the layer that outputs the logits; by default the last trained one.
    """
    trained = [i for i, x in enumerate(model.layers) if x.trainable_weights]
    ends = [i for i, x in enumerate(model.layers) if x.name == classifier]
    body = model.layers[trained[0] : min(trained[-1:] + ends)]
    reduced = [isinstance(layer, PRECISIONS[name]) for layer in body]
    places = [i for i, x in enumerate(body) if isinstance(x, keras.layers.Conv2D)]
    for i, layer in enumerate(body):
        if places and places[0] < i < places[-1] and _keeps_values(layer):
            follows = reduced[i - 1] and is_chain(body[i - 1 : i + 1])
            reduced[i] = reduced[i] or follows
        if reduced[i]:
            layer.dtype_policy = "mixed_bfloat16"


def _keeps_values(layer: keras.layers.Layer) -> bool:
    if isinstance(layer, keras.layers.Activation):
        return layer.activation is keras.activations.relu
    return isinstance(layer, activations.ELU | ShiftedReLU | keras.layers.MaxPooling2D)
