"""The CIFAR network of cuda-convnet, "AlexNet" in the paper's table 1."""

import keras

from elu_zoo.layers.normalization import WithinChannelNormalization
from elu_zoo.layers.pooling import CeilMaxPooling2D
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks, normal
from elu_zoo.registry import register_model

# (units, kernel size, standard deviation of the initial kernel) of each convolution.
# 3 x 3 pooling follows each convolution.
CONVOLUTIONS = ((32, 5, 1e-4), (32, 5, 0.01), (64, 5, 0.01))
NORMALIZED = (1, 2)  # numbers of the convolutions whose pooled map is normalised
CLASSIFIER_DEVIATION = 0.01


@register_model(
    preprocessing={"kind": "mean", "statistics": "cifar10"},
    training_only=("init_scale", "kernel_decay", "classifier_decay"),
)
def alexnet_cifar(
    activation="relu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(32, 32, 3),
    width=1.0,
    seed=0,
    preprocessing=None,
    kernel_decay=0.0,
    classifier_decay=0.0,
    init_scale=None,
) -> keras.Model:
    """Three convolutions and a classifier, the "18 %" network of cuda-convnet.

    The network has 89,578 parameters with 10 classes and 181,828 with 100. It is
    Krizhevsky's network for CIFAR-10 (Caffe's `cifar10_full`), not his network for
    ImageNet. The first activation follows the first pooling, and local response
    normalisation is within each channel.

    The paper's table 1 lists "AlexNet" with test errors of 18.04 % on CIFAR-10 and
    45.80 % on CIFAR-100, without its architecture. This network is inferred from the
    error: cuda-convnet reports about 18 % on CIFAR-10 without augmentation.

    Args:
        classifier_decay: L2 decay of the classifier's kernel, 1 in the original.
            `kernel_decay` applies to the convolutions and is 0.004 in the original.
        init_scale: variance of the convolutions' initial kernels times fan-in; None for
            the original's standard deviations.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Krizhevsky et al., 2012](https://papers.nips.cc/paper/4824); the layers
    are from [cuda-convnet](https://code.google.com/archive/p/cuda-convnet/).
    """
    net = Blocks(activation, batch_norm, width, seed, kernel_decay)
    image, x = image_input(input_shape, preprocessing)
    for i, (units, size, deviation) in enumerate(CONVOLUTIONS, 1):
        name = f"conv{i}"
        x = net.convolution(x, net.units(units), size, name, normal(deviation, init_scale))
        if i == 1:
            x = CeilMaxPooling2D(3, 2, name="pool1")(x)
            x = net.norm_act(x, name)
        else:
            x = net.norm_act(x, name)
            # On maps of even size "same" pooling has Caffe's windows. On maps of odd size
            # the windows start one pixel earlier, and there is one more in each dimension.
            x = keras.layers.AveragePooling2D(3, 2, padding="same", name=f"pool{i}")(x)
        if i in NORMALIZED:
            x = WithinChannelNormalization(name=f"lrn{i}")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    kernel = normal(CLASSIFIER_DEVIATION, None)
    logits = net.classifier(x, num_classes, kernel, decay=classifier_decay)
    return keras.Model(image, logits, name="alexnet_cifar")
