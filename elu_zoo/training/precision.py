"""The precision in which a training step computes; variables are float32 always."""

import keras

from elu_zoo import errors

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
        UsageError: there is no such precision.
    """
    if name not in PRECISIONS:
        raise errors.unknown("precision", name, PRECISIONS)


def apply(model: keras.Model, name: str) -> None:
    """Lets the body of a model that was built in float32 compute in `name`.

    The body lies between preprocessing and the last layer that is trained: pixels
    keep their values, and outputs their digits.

    Args:
        model: changed in place, before it is first called; its variables stay.
        name: `float32`; `bfloat16_conv`, convolutions multiply in bfloat16;
            `bfloat16_matmuls`, dense layers too; `mixed_bfloat16`, all of its layers
            compute in it.
    """
    trained = [i for i, x in enumerate(model.layers) if x.trainable_weights]
    for layer in model.layers[trained[0] : trained[-1]]:
        if isinstance(layer, PRECISIONS[name]):
            layer.dtype_policy = "mixed_bfloat16"
