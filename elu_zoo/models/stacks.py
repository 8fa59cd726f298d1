"""Convolutional networks built from the paper's lists of stacks."""

import functools
from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal
from elu_zoo.layers.dropout import Dropout, is_rate
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, average

# For each padding, the zeros on each side of an even kernel; None keeps the size.
PADDINGS = {"caffe": 1, "same": None, "valid": 0}
PLACEMENTS = ("last", "all", "before_pooling")

Stack = Sequence[tuple[int, int, int]]


def conv_stacks(
    stacks: Sequence[Stack],
    *,
    name: str,
    activation: Any,
    batch_norm: bool,
    num_classes: int,
    input_shape: tuple[int, int, int],
    width: float,
    seed: int,
    preprocessing: dict[str, Any] | None,
    padding: str,
    dropout: Sequence[float],
    dropout_placement: str,
    kernel_decay: float,
    init_scale: float,
) -> keras.Model:
    """Builds a network from the paper's list of stacks.

    Layer names are `stack<i>_conv<j>`, `norm_stack<i>_conv<j>` (with `batch_norm`) and
    `act_stack<i>_conv<j>`. Each stack ends with 2 x 2 max-pooling, `stack<i>_pool`, and
    dropout, `stack<i>_drop`. Maps of 1 x 1 are not pooled. The last stack has the 1 x 1
    convolution `classifier`. The logits are the means over the maps of the last stack.

    Args:
        stacks: for each stack except the last, tuples (number of convolutions, units
            at `width=1`, kernel size in pixels, which is the paper's receptive field).
        name: the model's name.

    The other arguments are those of `elu_zoo.models.elu_cifar.elu_cifar_11`.
    """
    errors.check_choice("padding", padding, PADDINGS)
    errors.check_choice("dropout_placement", dropout_placement, PLACEMENTS)
    check_dropout(dropout, len(stacks) + 1)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    kernel = functools.partial(FanInNormal, init_scale)

    def pool_and_drop(x, stack, rate, dtype=None):
        """Returns the output of a stack's max-pooling and dropout, in either order."""
        first = dropout_placement == "before_pooling"
        x = x if first else max_pool(x, stack, dtype)
        x = net.dropout(x, rate, f"stack{stack}_drop", dtype=dtype)
        return max_pool(x, stack, dtype) if first else x

    image, x = image_input(input_shape, preprocessing)
    for i, stack in enumerate(stacks, 1):
        layers = [(units, size) for count, units, size in stack for _ in range(count)]
        for j, (units, size) in enumerate(layers, 1):
            conv = f"stack{i}_conv{j}"
            zeros = PADDINGS[padding] if size % 2 == 0 else None
            x = net.convolution(x, net.units(units), size, conv, kernel, zeros=zeros)
            x = net.norm_act(x, conv)
            if dropout_placement == "all" and j < len(layers):
                x = net.dropout(x, dropout[i - 1], f"{conv}_drop")
        x = pool_and_drop(x, i, dropout[i - 1])
    x = net.class_maps(x, num_classes, kernel)
    x = pool_and_drop(x, len(stacks) + 1, dropout[-1], "float32")
    return keras.Model(image, average(x), name=name)


def max_pool(x, stack: int, dtype: str | None = None):
    """Returns the output of `stack<i>_pool`, or `x` if `x` is a 1 x 1 map."""
    if tuple(x.shape[1:3]) == (1, 1):
        return x
    # "same" also pools the last row and column of a map of odd size, as Caffe does.
    name = f"stack{stack}_pool"
    return keras.layers.MaxPooling2D(2, padding="same", name=name, dtype=dtype)(x)


def check_dropout(rates: Any, stacks: int) -> None:
    """Checks the dropout rates of `conv_stacks`."""
    expected = "rates in [0, 1), one for each stack and one for the classifier"
    errors.check_numbers("dropout", rates, stacks, expected, is_rate)


def set_dropout(model: keras.Model, rates: Sequence[float], placement: str) -> None:
    """Sets the dropout rates of a model of `conv_stacks`.

    Compiled functions must be traced again to use the new rates. For `placement="all"`, the
    model must have been built with `dropout_placement="all"`.
    """
    for layer in model.layers:
        if isinstance(layer, Dropout):
            stack, _, suffix = layer.name.removeprefix("stack").partition("_")
            is_used = suffix == "drop" or placement == "all"
            layer.rate = float(rates[int(stack) - 1]) if is_used else 0.0
