"""cuda-convnet's CIFAR network, "AlexNet" in the paper's table 1."""

import keras

from elu_zoo.initializers import Normal, layer_seed
from elu_zoo.layers import CeilMaxPooling2D, WithinChannelNormalization, image_input
from elu_zoo.models.arguments import scaled_units
from elu_zoo.models.linear import check_network, convolution, dense
from elu_zoo.models.stacks import CONV_DTYPES
from elu_zoo.models.units import activated
from elu_zoo.registry import register_model

# Units, receptive field, deviation of initial kernels; 3 x 3 pooling follows each.
CONVOLUTIONS = ((32, 5, 1e-4), (32, 5, 0.01), (64, 5, 0.01))
NORMALIZED = (1, 2)  # after their pooling
CLASSIFIER_DEVIATION = 0.01


@register_model(
    section="4.3, table 1", preprocessing={"kind": "mean", "statistics": "cifar10"}
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
    conv_dtype="float32",
) -> keras.Model:
    """Three convolutions and a classifier: cuda-convnet's "18 %" network.

    89,578 parameters with 10 classes, 181,828 with 100. It is Krizhevsky's network
    for CIFAR-10, Caffe's `cifar10_full`, not the one for ImageNet: the first
    activation follows the pooling, and local response normalisation is within each
    channel. The paper's table 1 has 18.04 % test error on CIFAR-10 and 45.80 % on
    CIFAR-100 for "AlexNet", cuda-convnet's configuration about 18 % on CIFAR-10
    without augmentation. That the table means this network is inferred from its
    error; where the two numbers were published first could not be verified.

    Args:
        activation: a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class,
            a registered callable or a factory; see `elu_zoo.activations.make`.
        batch_norm: normalise before each activation; not after the classifier.
        num_classes: number of logits.
        input_shape: `(height, width, channels)`.
        width: factor on the units of every convolution.
        seed: equal seeds give bit-equal initial weights for every activation,
            with or without batch normalisation.
        preprocessing: layers on the raw image; None for a preprocessed input.
        kernel_decay: gradient of the penalty on kernels of convolutions, divided by
            the kernels; the original's is 0.004.
        classifier_decay: that of the classifier; the original's is 1.
        conv_dtype: `float32` or `bfloat16`, in which convolutions multiply.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.

    Reference: [Krizhevsky et al., 2012](https://papers.nips.cc/paper/4824); the layers
    are those of [cuda-convnet](https://code.google.com/archive/p/cuda-convnet/).
    """
    input_shape = check_network(
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
        conv_dtype=conv_dtype,
        kernel_decay=kernel_decay,
        classifier_decay=classifier_decay,
        least=2,
    )
    image, x = image_input(input_shape, preprocessing)
    for i, (units, field, deviation) in enumerate(CONVOLUTIONS, 1):
        name, units = f"conv{i}", scaled_units(units, width)
        x = convolution(
            x,
            units,
            field,
            name,
            Normal(deviation, layer_seed(seed, name)),
            kernel_decay=kernel_decay,
            dtype=CONV_DTYPES[conv_dtype],
        )
        if i == 1:
            x = CeilMaxPooling2D(3, 2, name="pool1")(x)
            x = activated(x, name, activation, batch_norm, seed)
        else:
            x = activated(x, name, activation, batch_norm, seed)
            # Of an even map "same" pools the windows that Caffe does; of an odd one
            # it pools around the first cell, where Caffe begins with it.
            pooling = keras.layers.AveragePooling2D
            x = pooling(3, 2, padding="same", name=f"pool{i}")(x)
        if i in NORMALIZED:
            x = WithinChannelNormalization(name=f"lrn{i}")(x)
    x = keras.layers.Flatten(name="flatten")(x)
    # The loss wants float32 logits whatever the precision of the layers before.
    logits = dense(
        x,
        num_classes,
        "classifier",
        Normal(CLASSIFIER_DEVIATION, layer_seed(seed, "classifier")),
        kernel_decay=classifier_decay,
        dtype="float32",
    )
    return keras.Model(image, logits, name="alexnet_cifar")
