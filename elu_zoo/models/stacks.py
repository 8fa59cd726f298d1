"""From the paper's stacks, layers x units x receptive field, to a Keras graph."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal, FanInOrthogonal, layer_seed
from elu_zoo.layers import Dropout, image_input
from elu_zoo.layers.dropout import is_rate
from elu_zoo.models.arguments import (
    check_builder_arguments,
    check_choice,
    check_number,
    scaled_units,
)
from elu_zoo.models.units import activated

PADDINGS = ("caffe", "same")
PLACEMENTS = ("last", "all")
CONV_DTYPES = {"float32": None, "bfloat16": "mixed_bfloat16"}
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
        activation: see `elu_zoo.activations.make`.
        batch_norm: normalise between each convolution and its activation.
        num_classes: units of the classifier.
        input_shape: `(height, width, channels)` of an image.
        width: factor on the units.
        seed: the run's seed.
        preprocessing: layers on the raw image, see `preprocessing_layers`; None
            for an input that is preprocessed already.
        padding: `caffe`, as many zeros on each side, so that a 2 x 2 convolution
            gives one row and column more; or `same`, which keeps every size.
        dropout: the share of values that each stack drops in training, the
            classifier's stack included.
        dropout_placement: `last`, after the stack's pooling; `all`, also after the
            activation of every other convolution of the stack.
        kernel_decay: d of a penalty d / 2 * |kernel|^2, whose gradient is
            d * kernel, as in Caffe; biases are free of it.
        init_scale: the variance of initial kernels times their fan-in.
        initial_kernels: `normal`, or `orthogonal` of the same norm.
        conv_dtype: `float32`, or `bfloat16` for convolutions that multiply in
            bfloat16; variables, pooling, activations and logits stay float32.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.
    """
    input_shape = check_builder_arguments(
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
    )
    check_choice("padding", padding, PADDINGS)
    check_choice("dropout_placement", dropout_placement, PLACEMENTS)
    check_choice("conv_dtype", conv_dtype, CONV_DTYPES)
    check_kernels(kernel_decay, init_scale)
    check_dropout(dropout, len(stacks) + 1)

    check_choice("initial_kernels", initial_kernels, INITIAL_KERNELS)
    convolved = Convolution(padding, kernel_decay, init_scale, seed, initial_kernels)
    dtype = CONV_DTYPES[conv_dtype]
    image, x = image_input(input_shape, preprocessing)
    for i, stack in enumerate(stacks, 1):
        layers = [(units, field) for count, units, field in stack for _ in range(count)]
        for j, (units, field) in enumerate(layers, 1):
            units, conv_name = scaled_units(units, width), f"stack{i}_conv{j}"
            x = convolved(x, units, field, conv_name, dtype)
            x = activated(x, conv_name, activation, batch_norm, seed)
            if dropout_placement == "all" and j < len(layers):
                x = dropped(x, dropout[i - 1], f"{conv_name}_drop", seed)
        x = dropped(pooled(x, i), dropout[i - 1], f"stack{i}_drop", seed)
    # The loss wants float32 logits whatever the precision of the layers before.
    x = convolved(x, num_classes, 1, "classifier", "float32")
    last = len(stacks) + 1
    x = pooled(x, last, "float32")
    x = dropped(x, dropout[-1], f"stack{last}_drop", seed, dtype="float32")
    logits = keras.layers.GlobalAveragePooling2D(name="average", dtype="float32")(x)
    return keras.Model(image, logits, name=name)


@dataclasses.dataclass(frozen=True)
class Convolution:
    """How the convolutions of a network are made.

    Attributes:
        padding: `caffe` or `same`, see `conv_stacks`.
        kernel_decay: see `conv_stacks`.
        init_scale: see `conv_stacks`.
        seed: the run's seed.
        initial_kernels: see `conv_stacks`.
    """

    padding: str
    kernel_decay: float
    init_scale: float
    seed: int
    initial_kernels: str = "normal"

    def __call__(self, x, units: int, field: int, name: str, dtype: Any, stride=1):
        """Returns `units` maps of `x`, from `field` x `field` pixels each."""
        even = field % 2 == 0 and self.padding == "caffe"
        if even:
            x = keras.layers.ZeroPadding2D(1, name=f"{name}_pad", dtype=dtype)(x)
        return keras.layers.Conv2D(
            units,
            field,
            strides=stride,
            padding="valid" if even else "same",
            kernel_initializer=INITIAL_KERNELS[self.initial_kernels](
                self.init_scale, layer_seed(self.seed, name)
            ),
            kernel_regularizer=decay(self.kernel_decay),
            dtype=dtype,
            name=name,
        )(x)


def decay(kernel_decay: float) -> keras.regularizers.Regularizer | None:
    """Returns the penalty of `conv_stacks` on a kernel."""
    return keras.regularizers.L2(kernel_decay / 2) if kernel_decay else None


def pooled(x, stack: int, dtype: str | None = None):
    """Returns the maxima of 2 x 2 pixels, of a 1 x 1 map the map itself."""
    if tuple(x.shape[1:3]) == (1, 1):
        return x
    # Keras' "same" gives an odd map its last row and column, as Caffe does.
    name = f"stack{stack}_pool"
    return keras.layers.MaxPooling2D(2, padding="same", name=name, dtype=dtype)(x)


def dropped(x, rate: float, name: str, seed: int, **arguments):
    """Returns the output of a `Dropout` layer, of every rate."""
    # Also where the rate is 0: another phase of the training may set it.
    return Dropout(rate, seed=layer_seed(seed, name), name=name, **arguments)(x)


def check_kernels(kernel_decay: Any, init_scale: Any) -> None:
    """Checks these arguments of `conv_stacks`.

    Raises:
        UsageError: one is out of its range.
    """
    check_number("kernel_decay", kernel_decay, "is finite and >= 0", lambda v: v >= 0)
    check_number("init_scale", init_scale, "is finite and > 0", lambda v: v > 0)


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

    What has been traced before keeps the old rates.

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
