"""The All Convolutional Net, model C, a baseline of the paper's table 1."""

import functools
import math

import keras

from elu_zoo import errors
from elu_zoo.initializers import Uniform
from elu_zoo.layers.dropout import is_rate
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, average, norm_act
from elu_zoo.registry import register_model

# (units, kernel size, stride, zeros on each side). The classifier is added later.
CONVOLUTIONS = (
    (96, 3, 1, 1),
    (96, 3, 1, 1),
    (96, 3, 2, 1),
    (192, 3, 1, 1),
    (192, 3, 1, 1),
    (192, 3, 2, 1),
    (192, 3, 1, 0),
    (192, 1, 1, 0),
)
DROPPED = (3, 6)  # numbers of the convolutions that dropout follows


@register_model(
    preprocessing={"kind": "gcn_zca", "statistics": "cifar10"},
    any_size=True,
    training_only=("dropout", "kernel_decay"),
)
def allcnn_c(
    activation="relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    dropout=(0.2, 0.5, 0.5),
    kernel_decay=0.0,
) -> keras.Model:
    """Nine convolutions, two of them with a stride of 2 instead of pooling.

    The network has 1,369,738 parameters with 10 classes and 1,387,108 with 100. An
    activation follows the last convolution too, so that logits are never negative with
    ReLU. The paper's table 1 lists test errors of 7.25 % on CIFAR-10 and 33.71 % on
    CIFAR-100, both with augmentation. As in the Caffe version of the network, the
    seventh convolution has no padding, so that the averaged maps are 6 x 6, and kernels
    are initialized by "xavier". The original's `kernel_decay` is 0.001.

    Args:
        dropout: dropout rates of the input, the third and the sixth convolution.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Springenberg et al., 2014](https://arxiv.org/abs/1412.6806).
    """
    rates = "rates in [0, 1), of the input, the third and the sixth convolution"
    errors.check_numbers("dropout", dropout, len(DROPPED) + 1, rates, is_rate)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)

    def xavier(x, size):  # as in Caffe
        return functools.partial(Uniform, math.sqrt(3 / (size**2 * x.shape[-1])))

    image, x = image_input(input_shape, preprocessing)
    x = net.dropout(x, dropout[0], "input_drop")
    for i, (units, size, stride, zeros) in enumerate(CONVOLUTIONS, 1):
        name, units = f"conv{i}", net.units(units)
        # With a stride of 1, "same" padding adds these zeros without another layer.
        padded = None if stride == zeros == 1 else zeros
        x = net.convolution(x, units, size, name, xavier(x, size), zeros=padded, strides=stride)
        x = net.norm_act(x, name)
        if i in DROPPED:
            x = net.dropout(x, dropout[1 + DROPPED.index(i)], f"{name}_drop")
    maps = net.class_maps(x, num_classes, xavier(x, 1))
    maps = norm_act(maps, "classifier", activation, False, seed, "float32")
    return keras.Model(image, average(maps), name="allcnn_c")
