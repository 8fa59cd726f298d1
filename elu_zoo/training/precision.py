"""The precision in which a training step computes; variables are float32 always."""

import keras

from elu_zoo import errors

PRECISIONS = ("float32", "bfloat16_matmuls", "mixed_bfloat16")


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
        name: `float32`; `bfloat16_matmuls`, dense and convolution layers multiply in
            bfloat16; `mixed_bfloat16`, all of its layers compute in it.
    """
    if name == "float32":
        return
    trained = [i for i, x in enumerate(model.layers) if x.trainable_weights]
    for layer in model.layers[trained[0] : trained[-1]]:
        multiplies = isinstance(layer, keras.layers.Dense | keras.layers.Conv2D)
        if multiplies or name == "mixed_bfloat16":
            layer.dtype_policy = "mixed_bfloat16"
