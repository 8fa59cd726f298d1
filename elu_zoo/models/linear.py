"""Linear layers of the networks that the paper compares its own with (table 1)."""

from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.models.arguments import (
    check_builder_arguments,
    check_choice,
    check_number,
)
from elu_zoo.models.stacks import CONV_DTYPES, decay


def convolution(
    x,
    units: int,
    field: int,
    name: str,
    initial: keras.initializers.Initializer,
    *,
    zeros: int | None = None,
    stride: int = 1,
    kernel_decay: float = 0.0,
    dtype: str | None = None,
    **arguments: Any,
):
    """Returns `units` maps of `x`, from `field` x `field` pixels each.

    Args:
        x: `(batch, height, width, channels)`.
        units: number of maps.
        field: side of the receptive field.
        name: of the layer.
        initial: of the kernel; biases start at 0 unless `arguments` say otherwise.
        zeros: rows and columns of zeros on each side of the maps, a layer
            `<name>_pad`; None for as many as keep the size, of an odd `field`.
        stride: in pixels.
        kernel_decay: gradient of the penalty on the kernel, divided by the kernel.
        dtype: an entry of `CONV_DTYPES`.
        **arguments: of `keras.layers.Conv2D`.
    """
    if zeros:
        # Padding within the convolution is far slower in bfloat16.
        x = keras.layers.ZeroPadding2D(zeros, name=f"{name}_pad", dtype=dtype)(x)
    return keras.layers.Conv2D(
        units,
        field,
        strides=stride,
        padding="same" if zeros is None else "valid",
        kernel_initializer=initial,
        kernel_regularizer=decay(kernel_decay),
        dtype=dtype,
        name=name,
        **arguments,
    )(x)


def dense(
    x,
    units: int,
    name: str,
    initial: keras.initializers.Initializer,
    *,
    kernel_decay: float = 0.0,
    dtype: str | None = None,
    **arguments: Any,
):
    """Returns `units` sums of `x`, `(batch, features)`; see `convolution`."""
    return keras.layers.Dense(
        units,
        kernel_initializer=initial,
        kernel_regularizer=decay(kernel_decay),
        dtype=dtype,
        name=name,
        **arguments,
    )(x)


def check_network(
    *,
    batch_norm: Any,
    num_classes: Any,
    input_shape: Any,
    width: Any,
    seed: Any,
    conv_dtype: Any,
    least: int = 1,
    **decays: Any,
) -> tuple[int, int, int]:
    """Checks what these networks share and returns `input_shape` as a tuple.

    Args:
        least: height and width of the smallest image.
        **decays: arguments that are finite and >= 0.

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
    check_choice("conv_dtype", conv_dtype, CONV_DTYPES)
    for name, value in decays.items():
        check_number(name, value, "is finite and >= 0", lambda v: v >= 0)
    if min(input_shape[:2]) < least:
        raise errors.UsageError(
            f"Images of this network are at least {least} x {least}. Received: "
            f"input_shape={input_shape}."
        )
    return input_shape


def check_numbers(name: str, value: Any, count: int, expected: str, fits: Any) -> None:
    """Checks an argument of several numbers, such as one rate a layer.

    Args:
        name: of the argument.
        value: what was received for it.
        count: how many numbers there are.
        expected: what they are, for the message: "rates in [0, 1)".
        fits: whether an entry is one.

    Raises:
        UsageError: another number of entries, or one that does not fit.
    """
    try:
        entries = tuple(value)
    except TypeError:
        entries = ()
    if len(entries) != count or not all(map(fits, entries)):
        raise errors.UsageError(f"{name} has {count} {expected}. Received: {value!r}.")
