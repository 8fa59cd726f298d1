"""The blocks that Network in Network and the Deeply-Supervised Net share."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo.initializers import Normal, layer_seed
from elu_zoo.layers import CeilMaxPooling2D
from elu_zoo.models.arguments import scaled_units
from elu_zoo.models.linear import convolution
from elu_zoo.models.stacks import CONV_DTYPES, dropped
from elu_zoo.models.units import activated

# Units x receptive field of each block; the last one ends in [classes x 1].
BLOCKS = (
    ((192, 5), (160, 1), (96, 1)),
    ((192, 5), (192, 1), (192, 1)),
    ((192, 3), (192, 1)),
)
LEAST = 4  # pixels a side, so that a pixel is left for the last block


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
    kernel_decay: float,
    conv_dtype: str,
) -> tuple[Any, list[Any]]:
    """Returns a map of scores for each class, and the first outputs of the blocks.

    The convolutions of a block are `block<i>_conv`, `block<i>_cccp1` and
    `block<i>_cccp2`, the last of all `classifier`, which has no activation yet. After
    the first two blocks stand `block<i>_pool` and `block<i>_drop`.

    Args:
        x: images.
        deviations: of initial kernels: of the first convolution, of the two 1 x 1
            convolutions of its block, and of all others.
        conv_dtype: an entry of `CONV_DTYPES`; the classifier is in float32.

    Returns:
        `(batch, height, width, num_classes)`, and what `block<i>_conv` gives, before
        norm and activation.
    """

    def convolved(x, units, field, name, deviation, dtype):
        initial = Normal(deviation, layer_seed(seed, name))
        return convolution(
            x, units, field, name, initial, kernel_decay=kernel_decay, dtype=dtype
        )

    first, of_its_block, others = deviations
    firsts = []
    for i, block in enumerate(BLOCKS, 1):
        for j, (units, field) in enumerate(block):
            name = f"block{i}_cccp{j}" if j else f"block{i}_conv"
            deviation = (of_its_block if j else first) if i == 1 else others
            units = scaled_units(units, width)
            x = convolved(x, units, field, name, deviation, CONV_DTYPES[conv_dtype])
            if j == 0:
                firsts.append(x)
            x = activated(x, name, activation, batch_norm, seed)
        if i < len(BLOCKS):
            x = CeilMaxPooling2D(3, 2, name=f"block{i}_pool")(x)
            x = dropped(x, dropout, f"block{i}_drop", seed)
    # The loss wants float32 logits whatever the precision of the layers before.
    return convolved(x, num_classes, 1, "classifier", others, "float32"), firsts


def average(maps):
    """Returns the mean of each class's map as its score."""
    return keras.layers.GlobalAveragePooling2D(name="average", dtype="float32")(maps)
