"""The Deeply-Supervised Net, a baseline of the paper's table 1."""

import functools
import math

import keras

from elu_zoo import errors
from elu_zoo.initializers import Uniform
from elu_zoo.layers.merging import DeepSupervision
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import HEADS, Blocks, average, normal
from elu_zoo.models.nin import class_maps
from elu_zoo.registry import register_model


@register_model(
    preprocessing={"kind": "gcn"},
    loss="squared_hinge",
    any_size=True,
    training_only=("auxiliary_heads", "dropout", "init_scale", "kernel_decay"),
)
def dsn(
    activation="relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    auxiliary_heads=False,
    dropout=0.5,
    init_scale=None,
    kernel_decay=0.0,
) -> keras.Model:
    """Network in Network with auxiliary classifiers on inner layers.

    The network has 966,986 parameters with 10 classes and 984,356 with 100; with the
    auxiliary classifiers ("heads") 3,547,496 and 26,789,456. A head is a linear
    classifier on the output of the first convolution of a block, before normalisation
    and activation. In the original, each head has a squared hinge loss, or a softmax
    loss on CIFAR-100, and all heads are removed in the course of training. The weights
    of a head fit images of one size only. Unlike in `nin`, no activation follows the
    last convolution.

    The paper's table 1 lists test errors of 7.97 % on CIFAR-10 and 34.57 % on
    CIFAR-100. The authors report 9.65 % on CIFAR-10 without augmentation. The
    original's `kernel_decay` is 0.0005.

    Args:
        auxiliary_heads: whether to build the heads, which only training needs.
        dropout: dropout rate after each of the first two blocks.
        init_scale: variance of initial kernels times fan-in; None for the original's
            standard deviation, 0.05.

    The other arguments are documented in `elu_zoo.get_model`.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`. With auxiliary heads the output is
        `(batch, 4, num_classes)`: the logits, then the scores of the three heads.

    Reference: [Lee et al., 2015](https://arxiv.org/abs/1409.5185).
    """
    errors.check_bool("auxiliary_heads", auxiliary_heads)
    if auxiliary_heads and None in input_shape:
        raise errors.UsageError(
            "The weights of auxiliary heads fit images of one size. Received: "
            f"input_shape={input_shape}. Pass integers, or auxiliary_heads=False."
        )
    image, x = image_input(input_shape, preprocessing)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    kernels = [normal(0.05, init_scale)] * 3
    maps, convolutions = class_maps(net, x, num_classes, kernels, dropout)
    scores = average(maps)
    if auxiliary_heads:
        heads = [_head(net, x, f"head{i}", num_classes) for i, x in enumerate(convolutions, 1)]
        scores = DeepSupervision(name=HEADS, dtype="float32")([scores, *heads])
    return keras.Model(image, scores, name="dsn")


def _head(net, x, name, num_classes):
    x = keras.layers.Flatten(name=f"{name}_flatten", dtype="float32")(x)
    # In the authors' Caffe, the fan-in of "xavier" is the number of all weights.
    limit = math.sqrt(3 / (x.shape[-1] * num_classes))
    return net.dense(x, num_classes, name, functools.partial(Uniform, limit), dtype="float32")
