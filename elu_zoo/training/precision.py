"""The precision in which a training step computes; variables are float32 always."""

import keras

from elu_zoo import activations, errors
from elu_zoo.activations.rectifiers import ShiftedReLU
from elu_zoo.training.pooled_first import is_chain

# With the padding before a convolution, which then moves half of the bytes.
_CONVOLUTION = (keras.layers.Conv2D, keras.layers.ZeroPadding2D)
# name: the layers that compute in bfloat16
PRECISIONS = {
    "float32": (),
    "bfloat16_conv": _CONVOLUTION,
    "bfloat16_matmuls": (*_CONVOLUTION, keras.layers.Dense),
    "mixed_bfloat16": (keras.layers.Layer,),
}


def check(name: str) -> None:
    """Checks the name of a precision.

    Raises:
        UsageError: there is no such precision, or Keras' own policy is another.
    """
    if name not in PRECISIONS:
        raise errors.unknown("precision", name, PRECISIONS)
    policy = keras.config.dtype_policy().name
    if policy != "float32":
        raise errors.UsageError(
            f"Keras' policy is {policy}, but train.precision {name} says in what a run "
            'computes. Call keras.config.set_dtype_policy("float32") before training.'
        )


def apply(model: keras.Model, name: str, classifier: str | None = None) -> None:
    """Lets the body of a model that was built in float32 compute in `name`.

    The body lies between preprocessing and the classifier, or where none is named the
    last layer that is trained: pixels keep their values, and outputs their digits.

    What a convolution gives is of bfloat16, and what the next one takes. Layers in
    between that only choose values, and the ELU, which computes in float32 inside, then
    hand on bfloat16 as well, which moves half of the bytes. Outputs are the same; where
    dropout follows, training rounds values once more before they are scaled.

    Args:
        model: changed in place, before it is first called; its variables stay.
        name: `float32`; `bfloat16_conv`, convolutions multiply in bfloat16;
            `bfloat16_matmuls`, dense layers too; `mixed_bfloat16`, all of its layers
            compute in it.
        classifier: the name of the layer that gives the logits; what follows it keeps
            float32, too.
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
