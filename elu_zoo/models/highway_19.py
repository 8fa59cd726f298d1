"""The Highway Network of 19 layers, a baseline of the paper's table 1."""

import functools
import itertools

import keras

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal, Normal
from elu_zoo.layers.merging import Highway
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, average
from elu_zoo.registry import register_model

# (units, number of highway layers) of each stage. A stage starts with a convolution
# without a gate. All kernels are 3 x 3.
STAGES = ((32, 4), (80, 5), (128, 5))
LAST = 100  # units of the 1 x 1 convolution
GATE_BIAS = -2.0  # negative, so that outputs of untrained layers are close to inputs


@register_model(
    preprocessing={"kind": "gcn_mean", "statistics": "cifar10"},
    any_size=True,
    training_only=(
        "dropout",
        "kernel_decay",
        "classifier_decay",
        "first_deviation",
        "classifier_deviation",
    ),
)
def highway_19(
    activation="relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    dropout=0.2,
    kernel_decay=0.0,
    classifier_decay=0.0,
    first_deviation=1.0,
    classifier_deviation=0.05,
) -> keras.Model:
    """Eighteen convolutional layers, 14 of them highway layers, and a classifier.

    The network has 2,256,838 parameters with 10 classes and 2,265,928 with 100. A
    highway layer computes T h(H) + (1 - T) x. H is a 3 x 3 convolution of x and h the
    activation. The gate T is the sigmoid of another 3 x 3 convolution of x, without
    batch normalisation. The paper's table 1 lists test errors of 7.60 % on CIFAR-10 and
    32.24 % on CIFAR-100, as in the authors' second paper (arXiv 1507.06228). The
    training logs published with their code end at 7.86 % and 31.91 %.

    Initial kernels are normal with variance 2 / fan-in, which is "xavier" in the
    authors' Caffe. The authors' file sets the first layer's standard deviation to 0.05
    in an entry that Caffe ignores, so that the authors trained with Caffe's default, 1.

    Args:
        dropout: dropout rate of the input, after each pooling and before the
            classifier.
        classifier_decay: L2 decay of the classifier's kernel, 0.01 in the original.
            `kernel_decay` applies to the convolutions and is 0.001 in the original.
        first_deviation: standard deviation of the first layer's initial kernel.
        classifier_deviation: standard deviation of the classifier's initial kernel,
            sqrt(2 / 100) for 100 classes in the original.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Srivastava et al., 2015](https://arxiv.org/abs/1505.00387).
    """
    errors.check_number("first_deviation", first_deviation, errors.POSITIVE)
    errors.check_number("classifier_deviation", classifier_deviation, errors.POSITIVE)
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    bias = keras.initializers.Constant(GATE_BIAS)
    he = functools.partial(FanInNormal, 2)

    def conv_act(x, units, size, name, kernel=he):
        return net.norm_act(net.convolution(x, units, size, name, kernel), name)

    def highway(x, units, name):
        gate = net.convolution(x, units, 3, f"{name}_gate", he, bias_initializer=bias)
        transformed = conv_act(x, units, 3, name)
        return Highway(name=f"{name}_highway")([transformed, gate, x])

    image, x = image_input(input_shape, preprocessing)
    x = net.dropout(x, dropout, "input_drop")
    first = functools.partial(Normal, first_deviation)
    layers = itertools.count(1)
    for i, (units, highways) in enumerate(STAGES, 1):
        units = net.units(units)
        x = conv_act(x, units, 3, f"conv{next(layers)}", first if i == 1 else he)
        for _ in range(highways):
            x = highway(x, units, f"conv{next(layers)}")
        if i < len(STAGES):
            # "same" also pools the last row and column of maps of odd size, like Caffe.
            x = keras.layers.MaxPooling2D(2, padding="same", name=f"pool{i}")(x)
            x = net.dropout(x, dropout, f"pool{i}_drop")
    x = average(conv_act(x, net.units(LAST), 1, f"conv{next(layers)}"))
    x = net.dropout(x, dropout, "average_drop", dtype="float32")
    last = functools.partial(Normal, classifier_deviation)
    logits = net.classifier(x, num_classes, last, decay=classifier_decay)
    return keras.Model(image, logits, name="highway_19")
