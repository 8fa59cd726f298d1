"""The convolutions that Network in Network and the Deeply-Supervised Net share."""

import functools
from collections.abc import Sequence
from typing import Any

from elu_zoo.initializers import FanInNormal, Normal, layer_seed
from elu_zoo.layers.ceil_max_pooling import CeilMaxPooling2D
from elu_zoo.models import blocks
from elu_zoo.registry import CONV_DTYPES

# (units, kernel size) of each convolution. The classifier is added to the last block.
BLOCKS = (
    ((192, 5), (160, 1), (96, 1)),
    ((192, 5), (192, 1), (192, 1)),
    ((192, 3), (192, 1)),
)
SMALLEST = 4  # smallest side of an image in pixels, because the poolings divide by 4


def class_maps(
    x,
    *,
    activation: Any,
    batch_norm: bool,
    num_classes: int,
    width: float,
    seed: int,
    dropout: float,
    deviations: Sequence[float],
    init_scale: float | None,
    kernel_decay: float,
    conv_dtype: str,
) -> tuple[Any, list[Any]]:
    """Returns the class maps, and the output of the first convolution of each block.

    The convolutions of a block are named `block<i>_conv`, `block<i>_cccp1` and
    `block<i>_cccp2`; the last convolution of the network is `classifier`.
    `block<i>_pool` and `block<i>_drop` follow the first two blocks.

    Args:
        x: the input of the first convolution.

    The other arguments are those of `nin`.

    Returns:
        The output of `classifier`, `(batch, height, width, num_classes)`, and a list of
        the outputs of `block<i>_conv`, all before normalisation and activation.
    """
    convolve = functools.partial(
        blocks.convolution, kernel_decay=kernel_decay, dtype=CONV_DTYPES[conv_dtype]
    )

    def initial(name, deviation):
        if init_scale is None:
            return Normal(deviation, layer_seed(seed, name))
        return FanInNormal(init_scale, layer_seed(seed, name))

    first, second, others = deviations
    convolutions = []
    for i, block in enumerate(BLOCKS, 1):
        for j, (units, size) in enumerate(block):
            name = f"block{i}_cccp{j}" if j else f"block{i}_conv"
            if i == 1:
                deviation = second if j else first
            else:
                deviation = others
            kernel = initial(name, deviation)
            x = convolve(x, blocks.scaled_units(units, width), size, name, kernel)
            if j == 0:
                convolutions.append(x)
            x = blocks.norm_act(x, name, activation, batch_norm, seed)
        if i < len(BLOCKS):
            x = CeilMaxPooling2D(3, 2, name=f"block{i}_pool")(x)
            x = blocks.dropout(x, dropout, f"block{i}_drop", seed)
    kernel = initial("classifier", others)
    maps = blocks.classifier_maps(x, num_classes, kernel, kernel_decay=kernel_decay)
    return maps, convolutions
