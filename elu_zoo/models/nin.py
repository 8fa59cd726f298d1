"""Network in Network, a baseline of the paper's table 1."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.layers.pooling import CeilMaxPooling2D
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, Kernel, average, norm_act, normal
from elu_zoo.registry import register_model

# (units, kernel size) of each convolution. The classifier is added to the last block.
BLOCKS = (
    ((192, 5), (160, 1), (96, 1)),
    ((192, 5), (192, 1), (192, 1)),
    ((192, 3), (192, 1)),
)


@register_model(
    preprocessing={"kind": "gcn_zca", "statistics": "cifar10"},
    any_size=True,
    training_only=("deviations", "dropout", "init_scale", "kernel_decay"),
)
def nin(
    activation="relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    dropout=0.5,
    deviations=(0.05, 0.05, 0.05),
    init_scale=None,
    kernel_decay=0.0,
) -> keras.Model:
    """Three convolutions, each followed by two 1 x 1 convolutions.

    The network has 966,986 parameters with 10 classes and 984,356 with 100. As in the
    configuration of its authors, both pooling layers take maxima, and an activation
    follows the last convolution too, so that logits are never negative with ReLU. The
    paper's table 1 lists test errors of 8.81 % on CIFAR-10 (with translated and
    mirrored images) and 35.68 % on CIFAR-100. The authors report 10.4 % on CIFAR-10
    without augmentation. The original's `kernel_decay` is 0.0001 for CIFAR-10 and
    0.0005 for CIFAR-100.

    Args:
        dropout: dropout rate after each of the first two blocks.
        deviations: three standard deviations of initial kernels: for the first
            convolution, for the two 1 x 1 convolutions of the first block, and for all
            other convolutions. The original has 0.001, 0.01 and 0.05 for CIFAR-100.
        init_scale: variance of initial kernels times fan-in, instead of `deviations`;
            None for `deviations`.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Lin et al., 2013](https://arxiv.org/abs/1312.4400).
    """
    errors.check_numbers(
        "deviations", deviations, 3, "finite numbers > 0", lambda x: errors.is_finite(x) and x > 0
    )
    image, x = image_input(input_shape, preprocessing)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    kernels = [normal(deviation, init_scale) for deviation in deviations]
    maps, _ = class_maps(net, x, num_classes, kernels, dropout)
    maps = norm_act(maps, "classifier", activation, False, seed, "float32")
    return keras.Model(image, average(maps), name="nin")


def class_maps(
    net: Blocks, x, num_classes: int, kernels: Sequence[Kernel], dropout: float
) -> tuple[Any, list[Any]]:
    """Returns the class maps, and the output of the first convolution of each block.

    The convolutions of a block are named `block<i>_conv`, `block<i>_cccp1` and
    `block<i>_cccp2`; the last convolution of the network is `classifier`.
    `block<i>_pool` and `block<i>_drop` follow the first two blocks.

    Args:
        x: the input of the first convolution.
        kernels: initial kernels in the order of `deviations` of `nin`.
        dropout: dropout rate after each of the first two blocks.

    Returns:
        The output of `classifier`, `(batch, height, width, num_classes)`, and a list of
        the outputs of `block<i>_conv`, all before normalisation and activation.
    """
    first, second, others = kernels
    convolutions = []
    for i, block in enumerate(BLOCKS, 1):
        for j, (units, size) in enumerate(block):
            name = f"block{i}_cccp{j}" if j else f"block{i}_conv"
            kernel = others
            if i == 1:
                kernel = second if j else first
            x = net.convolution(x, net.units(units), size, name, kernel)
            if j == 0:
                convolutions.append(x)
            x = net.norm_act(x, name)
        if i < len(BLOCKS):
            x = CeilMaxPooling2D(3, 2, name=f"block{i}_pool")(x)
            x = net.dropout(x, dropout, f"block{i}_drop")
    return net.class_maps(x, num_classes, others), convolutions
