"""The fully connected networks of the MNIST experiments (section 4.1, appendix C).

For every activation, initial kernels are He uniform and initial biases zero.
"""

from collections.abc import Sequence

import keras

from elu_zoo import errors
from elu_zoo.initializers import HeUniform
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models.blocks import Blocks
from elu_zoo.registry import register_model

# Units of the autoencoder's hidden layers.
ENCODER, CODE, DECODER = (1000, 500, 250), 30, (250, 500, 1000)


@register_model
def mnist_mlp_8x128(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(28, 28, 1),
    width=1.0,
    hidden_layers=8,
    seed=0,
    preprocessing=None,
) -> keras.Model:
    """Eight hidden layers of 128 units each and a linear classifier.

    The network has 217,354 parameters with 28 x 28 x 1 images and 10 classes. The paper
    trains it with ELU, ReLU and leaky ReLU, by SGD with learning rate 0.01 and batches
    of 64 for 300 epochs, from He's initialisation.

    The hidden layers are named `dense<i>`, their activations `act_dense<i>`.

    Args:
        hidden_layers: number of hidden layers; the paper has eight.

    The other arguments are documented in `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    errors.check_integer("hidden_layers", hidden_layers, minimum=1)
    image, x = _flat_input(input_shape, preprocessing)
    net = Blocks(activation, batch_norm, width, seed)
    x = _hidden_layers(net, x, "dense", (128,) * hidden_layers)
    logits = net.classifier(x, num_classes, HeUniform)
    return keras.Model(image, logits, name="mnist_mlp_8x128")


@register_model
def mnist_mlp_5x256(
    activation="elu",
    *,
    batch_norm=False,
    num_classes=10,
    input_shape=(28, 28, 1),
    width=1.0,
    seed=0,
    preprocessing=None,
) -> keras.Model:
    """Five hidden layers of 256 units each and a linear classifier.

    The network has 466,698 parameters with 28 x 28 x 1 images and 10 classes. Appendix C
    trains it with ELU and ReLU, at learning rate 0.01 for 200 epochs, and records the
    median activation of each unit.

    The hidden layers are named `dense<i>`, their activations `act_dense<i>`. The
    arguments are documented in `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    image, x = _flat_input(input_shape, preprocessing)
    net = Blocks(activation, batch_norm, width, seed)
    x = _hidden_layers(net, x, "dense", (256,) * 5)
    logits = net.classifier(x, num_classes, HeUniform)
    return keras.Model(image, logits, name="mnist_mlp_5x256")


@register_model(loss="sigmoid_cross_entropy", code="code")
def mnist_autoencoder(
    activation="elu",
    *,
    batch_norm=False,
    input_shape=(28, 28, 1),
    width=1.0,
    seed=0,
    preprocessing=None,
) -> keras.Model:
    """Deep autoencoder, 784-1000-500-250-30-250-500-1000-784.

    The network has 2,837,314 parameters with 28 x 28 x 1 images. The paper trains it by
    SGD with batches of 64 for 500 epochs, at four learning rates. It specifies neither
    the loss nor the activations of the code layer and of the output. Here the code
    layer is linear, as in Martens' later program for this benchmark of Hinton and
    Salakhutdinov (2006). The output has one logit per pixel; the sigmoid of the logit is
    the reconstruction.

    The hidden layers are named `encoder<i>` and `decoder<i>`, with `code` between them.
    The last two layers are `pixels` and `reconstruction`, which reshapes to an image.

    Args:
        batch_norm: whether batch normalisation precedes each activation. The code layer
            has no activation and is not normalised.
        width: factor on the units of the hidden layers and of the code.

    The other arguments are documented in `elu_zoo.get_model`.

    Returns:
        A model from `(batch, height, width, channels)` to logits of the same shape. If
        `get_model` has `features="code"` or `include_top=False`, the model ends at the
        code, `(batch, 30)`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    image, x = _flat_input(input_shape, preprocessing)
    pixels = x.shape[-1]
    net = Blocks(activation, batch_norm, width, seed)
    x = _hidden_layers(net, x, "encoder", ENCODER)
    x = net.dense(x, net.units(CODE), "code", HeUniform)
    x = _hidden_layers(net, x, "decoder", DECODER)
    x = net.dense(x, pixels, "pixels", HeUniform, dtype="float32")
    x = keras.layers.Reshape(input_shape, name="reconstruction", dtype="float32")(x)
    return keras.Model(image, x, name="mnist_autoencoder")


def _flat_input(input_shape, preprocessing):
    image, x = image_input(input_shape, preprocessing)
    return image, keras.layers.Flatten(name="flatten")(x)


def _hidden_layers(net: Blocks, x, prefix: str, units: Sequence[int]):
    """Returns the output of hidden layers `<prefix><i>` with their activations."""
    for i, layer_units in enumerate(units, 1):
        name = f"{prefix}{i}"
        x = net.norm_act(net.dense(x, net.units(layer_units), name, HeUniform), name)
    return x
