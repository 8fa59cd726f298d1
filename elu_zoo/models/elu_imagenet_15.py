"""The convolutional network of the paper's ImageNet experiment (section 4.4)."""

import functools
from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal
from elu_zoo.layers.dropout import check_rate
from elu_zoo.layers.pooling import SpatialPyramidPooling, check_levels
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks
from elu_zoo.models.stacks import max_pool
from elu_zoo.registry import register_model

# Layers x units x kernel size (the paper's receptive field).
STACKS = ((1, 96, 6), (3, 512, 3), (5, 768, 3), (3, 1024, 3))
DENSE_15 = (4096, 4096)
# Means of the red, green and blue pixels of ILSVRC-2012's training images, 0..255, as
# published with the VGG networks (Simonyan and Zisserman, 2014).
MEANS = (123.68, 116.779, 103.939)


@register_model(
    preprocessing={
        "kind": "mean_crop", "statistics": "imagenet2012", "crop": (224, 224)
    },
    fallback={"kind": "rescale", "scale": 1.0, "offset": [-mean for mean in MEANS]},
    any_size=True,
    training_only=("dropout", "init_scale", "kernel_decay"),
)  # fmt: skip
def elu_imagenet_15(
    activation: Any = "elu",
    *,
    batch_norm: bool = False,
    num_classes: int = 1000,
    input_shape: tuple[int, int, int] = (224, 224, 3),
    width: float = 1.0,
    seed: int = 0,
    preprocessing: dict[str, Any] | None = None,
    stem_stride: int = 2,
    spp_levels: Sequence[int] = (1, 2, 4),
    dropout: float = 0.5,
    kernel_decay: float = 0.0,
    init_scale: float = 1.0,
) -> keras.Model:
    """Twelve convolutional and three fully connected layers for ImageNet.

    The network has 164,867,528 parameters and computes 40.9e9 multiply-accumulates per
    image. 2 x 2 max-pooling follows each stack of convolutions. The maps of a 224 x 224
    image have sides of 112, 56, 28, 14 and 7 pixels. Spatial pyramid pooling reduces
    the 7 x 7 maps to 21 bins. The paper trains the network on 224 x 224 crops of images
    resized to 256 x 256. ELU reaches 20 % top-5 error after 160,000 iterations, ReLU
    after 200,000. The final top-5 error with ELU is below 10 %. The paper's L2 weight
    decay is `kernel_decay=0.0005`.

    The paper states neither the stride of the first layer, nor the bins of its "3
    levels", nor the initial weights. With a stride of 2 the first layer halves 224
    exactly, and the paper's training times are plausible. The default levels are those
    of Caffe's pyramid of height 3.

    The paper subtracts the mean image of ImageNet, which only training on ImageNet
    writes. An untrained model subtracts the channel means of ILSVRC-2012: 123.68 (red),
    116.779 and 103.939. With `preprocessing="imagenet2012"`, or the name of the set that
    training wrote, it subtracts the mean image of 256 x 256 and crops the centre.

    Args:
        stem_stride: stride of the first convolution, in pixels.
        spp_levels: number of bins along each side, for each level of the pyramid. The
            last map must be at least as large as the largest level. With the default
            levels and stride, images must have at least 97 pixels a side.
        dropout: dropout rate after each of the two layers of 4096 units.
        init_scale: variance of initial kernels times fan-in; He's initialisation has 2.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    errors.check_integer("stem_stride", stem_stride, minimum=1)
    check_levels(spp_levels)
    check_rate(dropout)
    _check_size(input_shape, spp_levels, stem_stride)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    kernel = functools.partial(FanInNormal, init_scale)
    image, x = image_input(input_shape, preprocessing)
    for i, (layers, units, size) in enumerate(STACKS, 1):
        for j in range(1, layers + 1):
            name, stride = f"stack{i}_conv{j}", stem_stride if i == j == 1 else 1
            x = net.convolution(x, net.units(units), size, name, kernel, strides=stride)
            x = net.norm_act(x, name)
        x = max_pool(x, i)
    x = SpatialPyramidPooling(spp_levels, name="pyramid")(x)
    for i, units in enumerate(DENSE_15, 1):
        name = f"dense{i}"
        x = net.dense(x, net.units(units), name, kernel)
        x = net.norm_act(x, name)
        x = net.dropout(x, dropout, f"{name}_drop")
    return keras.Model(image, net.classifier(x, num_classes, kernel), name="elu_imagenet_15")


def _check_size(input_shape: tuple[int, int, int], levels: Sequence[int], stride: int) -> None:
    """Checks that the last map has a pixel for each bin, before any weight is drawn."""
    bins = max(levels)
    # The strided convolution and each pooling layer round the output size up.
    least = (bins - 1) * stride * 2 ** len(STACKS) + 1
    if any(size is not None and size < least for size in input_shape[:2]):
        raise errors.UsageError(
            f"Images must be at least {least} x {least} for stem_stride={stride} and "
            f"spp_levels={tuple(levels)}. Received: input_shape={input_shape}. "
            "Pass a larger input_shape or smaller levels."
        )
