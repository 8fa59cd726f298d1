"""The paper's stacks, layers x units x receptive field, as a Keras graph."""

import functools
from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal, FanInOrthogonal, layer_seed
from elu_zoo.layers import Dropout, image_input
from elu_zoo.layers.dropout import is_rate
from elu_zoo.models import blocks
from elu_zoo.registry import CONV_DTYPES

PADDINGS = ("caffe", "same")
PLACEMENTS = ("last", "all")
INITIAL_KERNELS = {"normal": FanInNormal, "orthogonal": FanInOrthogonal}

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
    initial_kernels: str,
    conv_dtype: str,
) -> keras.Model:
    """Builds stacks of convolutions, and the classifier as a stack of its own.

    Each convolution is `stack<i>_conv<j>`, with `batch_norm` followed by
    `norm_stack<i>_conv<j>`, and its activation `act_stack<i>_conv<j>`; the last one,
    `classifier`, is 1 x 1 and has neither. A stack ends in 2 x 2 max-pooling,
    `stack<i>_pool`, while the map is larger than 1 x 1, and in `stack<i>_drop`. What
    is left of the map at the end is averaged.

    Args:
        stacks: the paper's layers x units x receptive field, at `width=1`.
        name: the model's name.
        padding: of convolutions with an even receptive field: `caffe`, one row and
            column of zeros on each side, so that a 2 x 2 convolution gives one row
            and column more; or `same`, which keeps every size.
        dropout: the share of values that each stack drops in training, the
            classifier's stack included.
        dropout_placement: `last`, after the stack's pooling; `all`, also after the
            activation of every other convolution of the stack.
        init_scale: the variance of initial kernels times their fan-in.
        initial_kernels: `normal`, or `orthogonal` of the same norm.

    The other arguments are those of every builder, which `register_model` checks; see
    `elu_zoo.models.elu_cifar_11`.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.
    """
    errors.check_choice("padding", padding, PADDINGS)
    errors.check_choice("dropout_placement", dropout_placement, PLACEMENTS)
    errors.check_choice("initial_kernels", initial_kernels, INITIAL_KERNELS)
    errors.check_positive("init_scale", init_scale)
    check_dropout(dropout, len(stacks) + 1)
    convolve = functools.partial(
        blocks.convolution, kernel_decay=kernel_decay, dtype=CONV_DTYPES[conv_dtype]
    )

    def initial(name):
        kernels = INITIAL_KERNELS[initial_kernels]
        return kernels(init_scale, layer_seed(seed, name))

    image, x = image_input(input_shape, preprocessing)
    for i, stack in enumerate(stacks, 1):
        layers = [(units, field) for count, units, field in stack for _ in range(count)]
        for j, (units, field) in enumerate(layers, 1):
            units, conv = blocks.scaled_units(units, width), f"stack{i}_conv{j}"
            zeros = 1 if field % 2 == 0 and padding == "caffe" else None
            x = convolve(x, units, field, conv, initial(conv), zeros=zeros)
            x = blocks.norm_act(x, conv, activation, batch_norm, seed)
            if dropout_placement == "all" and j < len(layers):
                x = blocks.dropout(x, dropout[i - 1], f"{conv}_drop", seed)
        x = max_pool(x, i)
        x = blocks.dropout(x, dropout[i - 1], f"stack{i}_drop", seed)
    kernel = initial("classifier")
    x = blocks.classifier_maps(x, num_classes, kernel, kernel_decay=kernel_decay)
    last = len(stacks) + 1
    x = max_pool(x, last, "float32")
    x = blocks.dropout(x, dropout[-1], f"stack{last}_drop", seed, dtype="float32")
    return keras.Model(image, blocks.average(x), name=name)


def max_pool(x, stack: int, dtype: str | None = None):
    """Returns the maxima of 2 x 2 pixels, of a 1 x 1 map the map itself."""
    if tuple(x.shape[1:3]) == (1, 1):
        return x
    # Keras' "same" gives an odd map its last row and column, as Caffe does.
    name = f"stack{stack}_pool"
    return keras.layers.MaxPooling2D(2, padding="same", name=name, dtype=dtype)(x)


def check_dropout(rates: Any, stacks: int) -> None:
    """Checks the rates of `conv_stacks`.

    Raises:
        UsageError: not one rate in [0, 1) for each stack.
    """
    expected = (
        f"dropout has one rate in [0, 1) for each of the {stacks} stacks, the "
        "classifier's included."
    )
    try:
        rates = tuple(rates)
    except TypeError:
        raise errors.UsageError(f"{expected} Received: {rates!r}.") from None
    if not all(map(is_rate, rates)) or len(rates) != stacks:
        raise errors.UsageError(f"{expected} Received {len(rates)}: {rates}.")


def set_dropout(model: keras.Model, rates: Sequence[float], placement: str) -> None:
    """Gives the dropout layers of a model of `conv_stacks` the rates of a phase.

    A function that was traced before keeps the old rates.

    Args:
        model: built with `dropout_placement="all"` unless `placement` is `last`.
        rates: as `dropout` of `conv_stacks`.
        placement: as `dropout_placement`.
    """
    for layer in model.layers:
        if isinstance(layer, Dropout):
            stack, _, rest = layer.name.removeprefix("stack").partition("_")
            drops = rest == "drop" or placement == "all"
            layer.rate = float(rates[int(stack) - 1]) if drops else 0.0
