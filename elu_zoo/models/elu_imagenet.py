"""The convolutional network of the paper's ImageNet experiment (section 4.4)."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal, layer_seed
from elu_zoo.layers import SpatialPyramidPooling, image_input
from elu_zoo.layers.dropout import check_rate
from elu_zoo.layers.spatial_pyramid_pooling import check_levels
from elu_zoo.models.arguments import (
    check_builder_arguments,
    check_choice,
    check_integer,
    scaled_units,
)
from elu_zoo.models.stacks import (
    CONV_DTYPES,
    Convolution,
    check_kernels,
    decay,
    dropped,
    pooled,
)
from elu_zoo.models.units import activated
from elu_zoo.registry import register_model

# Layers x units x receptive field, as in the paper.
STACKS_15 = ((1, 96, 6), (3, 512, 3), (5, 768, 3), (3, 1024, 3))
DENSE_15 = (4096, 4096)


@register_model(
    section="4.4, figure 6",
    preprocessing={
        "kind": "mean_crop", "statistics": "imagenet2012", "crop": (224, 224)
    },
    any_size=True,
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
    conv_dtype: str = "float32",
) -> keras.Model:
    """Twelve convolutional and three fully connected layers for ImageNet.

    164,867,528 parameters and 40.9e9 multiply-accumulates an image. 2 x 2 max-pooling
    follows each stack of convolutions, spatial pyramid pooling the last, so that maps
    of 224 x 224 images shrink to 112, 56, 28, 14, 7, and to 21 bins. The paper trains
    it on crops of 224 x 224 out of images resized to 256 x 256; ELU reaches 20 %
    top-5 error after 160,000 iterations, ReLU after 200,000, and in the end ELU's is
    below 10 %.

    The paper does not say how far apart the first layer's receptive fields are, which
    bins the "3 levels" have, or how weights start. With a stride of 2 its 6 x 6 field
    halves 224 exactly, and the paper's training times are plausible; the levels are
    those of Caffe's pyramid of height 3.

    Args:
        activation: a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class,
            a registered callable or a factory; see `elu_zoo.activations.make`.
        batch_norm: normalise between each layer and its activation; not after the
            classifier.
        num_classes: number of logits.
        input_shape: `(height, width, channels)`; the weights fit every size whose
            last map is at least as large as the pyramid: with its levels and stride
            97 pixels a side.
        width: factor on the units of every layer.
        seed: equal seeds give bit-equal initial weights for every activation,
            with or without batch normalisation.
        preprocessing: layers on the raw image; None for a preprocessed input.
        stem_stride: of the first convolution, in pixels.
        spp_levels: bins along each side, one number a level.
        dropout: the share of units that the two layers of 4096 drop in training.
        kernel_decay: gradient of the penalty on kernels, divided by the kernels; the
            paper's L2 weight decay is 0.0005.
        init_scale: variance of initial kernels times fan-in; 2 is He's.
        conv_dtype: `float32` or `bfloat16`, in which convolutions multiply.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    input_shape = check_builder_arguments(
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
    )
    check_choice("conv_dtype", conv_dtype, CONV_DTYPES)
    check_integer("stem_stride", stem_stride, minimum=1)
    check_kernels(kernel_decay, init_scale)
    check_levels(spp_levels)
    check_rate(dropout)
    _check_size(input_shape, spp_levels, stem_stride)

    def dense(x, units, name, dtype=None):
        return keras.layers.Dense(
            units,
            kernel_initializer=FanInNormal(init_scale, layer_seed(seed, name)),
            kernel_regularizer=decay(kernel_decay),
            dtype=dtype,
            name=name,
        )(x)

    convolved = Convolution("same", kernel_decay, init_scale, seed)
    image, x = image_input(input_shape, preprocessing)
    for i, (layers, units, field) in enumerate(STACKS_15, 1):
        for j in range(1, layers + 1):
            name, stride = f"stack{i}_conv{j}", stem_stride if i == j == 1 else 1
            units_here = scaled_units(units, width)
            x = convolved(x, units_here, field, name, CONV_DTYPES[conv_dtype], stride)
            x = activated(x, name, activation, batch_norm, seed)
        x = pooled(x, i)
    x = SpatialPyramidPooling(spp_levels, name="pyramid")(x)
    for i, units in enumerate(DENSE_15, 1):
        x = dense(x, scaled_units(units, width), f"dense{i}")
        x = activated(x, f"dense{i}", activation, batch_norm, seed)
        x = dropped(x, dropout, f"dense{i}_drop", seed)
    # The loss wants float32 logits whatever the precision of the layers before.
    logits = dense(x, num_classes, "classifier", "float32")
    return keras.Model(image, logits, name="elu_imagenet_15")


def _check_size(
    input_shape: tuple[int, int, int], levels: Sequence[int], stride: int
) -> None:
    """Refuses images whose last map is smaller than the pyramid."""
    bins = max(levels)
    # Strides and poolings round up.
    least = (bins - 1) * stride * 2 ** len(STACKS_15) + 1
    if min(input_shape[:2]) < least:
        raise errors.UsageError(
            f"Images of this network are at least {least} x {least}: with a "
            f"stem_stride of {stride} the pyramid of levels {tuple(levels)} takes a "
            f"map of at least {bins} x {bins}. Received: input_shape={input_shape}. "
            "Take larger images, or fewer levels."
        )
