"""Fractional Max-Pooling, a baseline of the paper's table 1."""

import functools
import math

import keras

from elu_zoo import errors
from elu_zoo.initializers import Uniform, layer_seed
from elu_zoo.layers.dropout import FeatureMapDropout, check_rate
from elu_zoo.layers.fractional_max_pooling import FractionalMaxPooling2D
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, Kernel
from elu_zoo.registry import register_model

# The architecture is (k n C2 - FMP)_n=1..12 - C2 - C1 - output, where k n is the number
# of filters, C<f> an f x f convolution without padding, and FMP the pooling layer.
POOLED = 12
KERNEL_SIZES = (2,) * (POOLED + 1) + (1,)
SHRINK = 2 ** (1 / 3)
BLOCK = 32  # dropout keeps a multiple of this number of maps, as in the original


def pooled_sizes() -> list[int]:
    """Returns the side of the map after each pooling layer, in pixels.

    Sides are computed backwards from the last side, which is 2. The input of a pooling
    layer is SHRINK times the output, rounded. The input of a convolution is one pixel
    larger than the output.
    """
    sizes = [KERNEL_SIZES[POOLED]]
    while len(sizes) <= POOLED:
        sizes.append(int(sizes[-1] * SHRINK + 0.5) + KERNEL_SIZES[0] - 1)
    return sizes[-2::-1]


INPUT = int(pooled_sizes()[0] * SHRINK + 0.5) + KERNEL_SIZES[0] - 1  # 94 pixels a side


@register_model(preprocessing={"kind": "rescale", "scale": 1 / 128, "offset": -1.0}, any_size=True)
def fmp(
    activation="very_leaky_relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    filters=160,
    regions="pseudorandom",
    dropout=0.5,
) -> keras.Model:
    """Fourteen convolutions, with max pooling by the cube root of 2 after twelve.

    The network has 79,247,530 parameters with 10 classes and 79,449,220 with 100; with `filters=32`
    it has 3,176,490 and 3,216,900. The image, of at most 94 x 94 pixels, is centred in a map of 94
    x 94 zeros, which the layers reduce to 1 x 1. The paper's table 1 lists test errors of 4.50 % on
    CIFAR-10 and 27.62 % on CIFAR-100. 4.50 % is the original's error for a single test with regions
    drawn at random, as in training. The source of 27.62 % is unknown.

    Args:
        filters: number k of filters of the first convolution; the n-th convolution has n k filters.
        regions: how the pooling draws regions, `pseudorandom` or `random`. The
            original's smaller network, with `filters=32`, has `random`.
        dropout: fraction of the maps of the last convolution that training drops, the same maps for
            a whole batch. The fraction grows in equal steps from 0 at the first convolution. As in
            the original, a multiple of 32 maps is kept if `filters` is such a multiple and `width`
            is 1. The original's smaller network has 0.1.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Graham, 2014](https://arxiv.org/abs/1412.6071).
    """
    errors.check_integer("filters", filters, minimum=1)
    check_rate(dropout)
    if None in input_shape or max(input_shape[:2]) > INPUT:
        raise errors.UsageError(
            f"Images of this network must be at most {INPUT} x {INPUT}, and of one "
            f"size. Received: input_shape={input_shape}. Resize the images."
        )
    net = Blocks(activation, batch_norm, width, seed)
    image, x = image_input(input_shape, preprocessing)
    zeros = [INPUT - size for size in input_shape[:2]]
    margins = [(n // 2, n - n // 2) for n in zeros]
    x = keras.layers.ZeroPadding2D(margins, name="centre")(x)
    sizes = pooled_sizes()
    for n, size in enumerate(KERNEL_SIZES, 1):
        name, units = f"conv{n}", net.units(n * filters)
        kernel = _uniform(x, units, size, SHRINK if n <= POOLED else 1)
        x = net.convolution(x, units, size, name, kernel, zeros=0)
        x = net.norm_act(x, name)
        if n <= POOLED:
            pool, shape = f"pool{n}", (sizes[n - 1],) * 2
            x = FractionalMaxPooling2D(shape, regions, layer_seed(seed, pool), name=pool)(x)
        drop = f"{name}_drop"
        rate = _rate(filters, n, dropout * (n - 1) / (len(KERNEL_SIZES) - 1))
        x = FeatureMapDropout(rate, layer_seed(seed, drop), name=drop)(x)
    x = keras.layers.Flatten(name="flatten")(x)
    logits = net.classifier(x, num_classes, _uniform(x, num_classes, 1, 1))
    return keras.Model(image, logits, name="fmp")


def _rate(filters: int, n: int, rate: float) -> float:
    """Returns the nearest rate at which a multiple of BLOCK maps is kept."""
    if filters % BLOCK:
        return rate
    kept = (int(n * filters * (1 - rate)) + BLOCK // 2) // BLOCK * BLOCK
    return 1 - max(kept, BLOCK) / (n * filters)


def _uniform(x, units: int, size: int, shrink: float) -> Kernel:
    """Returns the initial kernel of a layer whose output is pooled by `shrink`."""
    fan_in = size**2 * x.shape[-1]
    limit = math.sqrt(6 / (fan_in + units * (size / shrink) ** 2))
    return functools.partial(Uniform, limit)
