"""The maxout network, a baseline of the paper's table 1."""

import functools

import keras

from elu_zoo import errors
from elu_zoo.activations.table import is_maxout
from elu_zoo.initializers import FanInNormal, Uniform
from elu_zoo.layers.dropout import is_rate
from elu_zoo.layers.merging import Maxout
from elu_zoo.layers.pooling import CeilMaxPooling2D
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, norm
from elu_zoo.registry import register_model

# (units, pieces, kernel size, zeros on each side, side of the pooling windows, largest
# norm of a filter). The pooling windows have a stride of 2.
CONVOLUTIONS = (
    (96, 2, 8, 4, 4, 0.9),
    (192, 2, 8, 3, 4, 1.9365),
    (192, 2, 5, 3, 2, 1.9365),
)
DENSE = (500, 5, 1.9)  # units, pieces, largest norm
CLASSIFIER_NORM = 1.9365
LIMIT = 0.005  # initial kernels are uniform in [-LIMIT, LIMIT]


@register_model(
    preprocessing={"kind": "gcn_zca", "statistics": "cifar10"},
    training_only=("dropout", "init_scale", "constrained"),
)
def maxout(
    activation="maxout",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    dropout=(0.2, 0.5, 0.5, 0.5, 0.5),
    constrained=False,
    init_scale=None,
) -> keras.Model:
    """Three convolutions and a dense layer of maxout units, and a classifier.

    A maxout unit is the maximum of several linear filters, called pieces. The network
    has 16,247,830 parameters with 10 classes and 16,292,920 with 100. The paper's
    table 1 lists test errors of 9.38 % on CIFAR-10 and 38.57 % on CIFAR-100. The
    authors report 9.38 % with and 11.68 % without augmentation on CIFAR-10, and did not
    publish their settings for CIFAR-100.

    Any other `activation` replaces the maximum over pieces. Each unit then has one
    filter, and the network has 4,525,670 parameters with 10 classes. `batch_norm` acts
    on each piece separately. As in the original, dropout of the input does not scale
    the kept values, but dropout of hidden layers does.

    Args:
        activation: `maxout`, or an activation as in `elu_zoo.get_model`.
        dropout: dropout rates of the input and of the output of each hidden layer.
        constrained: whether training limits the norm of each filter, as in the
            original.
        init_scale: variance of the hidden layers' initial kernels times fan-in; None
            for the original's uniform kernels.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Goodfellow et al., 2013](https://arxiv.org/abs/1302.4389).
    """
    errors.check_bool("constrained", constrained)
    rates = "rates in [0, 1), of the input and of each hidden layer"
    errors.check_numbers("dropout", dropout, len(CONVOLUTIONS) + 2, rates, is_rate)
    has_pieces = is_maxout(activation)
    net = Blocks(activation, batch_norm, width, seed)
    kernel = last = functools.partial(Uniform, LIMIT)
    if init_scale is not None:
        kernel = functools.partial(FanInNormal, init_scale)

    def constraint(bound, axis):
        if not constrained:
            return {}
        return {"kernel_constraint": keras.constraints.MaxNorm(bound, axis)}

    def filters(units, pieces):
        return net.units(units) * (pieces if has_pieces else 1)

    def activate(x, pieces, name):
        if not has_pieces:
            return net.norm_act(x, name)
        return Maxout(pieces, name=f"act_{name}")(norm(x, name, batch_norm))

    image, x = image_input(input_shape, preprocessing)
    x = net.dropout(x, dropout[0], "input_drop", scaled=False)
    for i, (units, pieces, size, zeros, pooled, bound) in enumerate(CONVOLUTIONS):
        name, count = f"h{i}", filters(units, pieces)
        options = {"zeros": zeros, **constraint(bound, [0, 1, 2])}
        x = net.convolution(x, count, size, name, kernel, **options)
        # The original pools first. This order has the same result and is faster,
        # because fewer values are pooled.
        x = activate(x, pieces, name)
        x = CeilMaxPooling2D(pooled, 2, name=f"{name}_pool")(x)
        x = net.dropout(x, dropout[i + 1], f"{name}_drop")
    x = keras.layers.Flatten(name="flatten")(x)
    units, pieces, bound = DENSE
    x = net.dense(x, filters(units, pieces), "h3", kernel, **constraint(bound, 0))
    x = net.dropout(activate(x, pieces, "h3"), dropout[-1], "h3_drop")
    logits = net.classifier(x, num_classes, last, **constraint(CLASSIFIER_NORM, 0))
    return keras.Model(image, logits, name="maxout")
