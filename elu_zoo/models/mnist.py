"""The fully connected networks of the paper's MNIST experiments (section 4.1).

For every activation, initial kernels are He uniform and initial biases zero.
"""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.initializers import HeUniform, layer_seed
from elu_zoo.layers.preprocessing import image_input
from elu_zoo.models import blocks
from elu_zoo.registry import register_model

# Units of the hidden layers, as in the paper.
HIDDEN_5X256 = (256, 256, 256, 256, 256)
ENCODER, CODE, DECODER = (1000, 500, 250), 30, (250, 500, 1000)


@register_model(section="4.1.1 Learning behavior, figure 2")
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
    hidden = (128,) * hidden_layers
    x = _hidden_layers(x, "dense", hidden, activation, batch_norm, width, seed)
    logits = blocks.classifier(x, num_classes, _he_uniform(seed, "classifier"))
    return keras.Model(image, logits, name="mnist_mlp_8x128")


@register_model(section="appendix C, figure 7")
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

    The network has 466,698 parameters with 28 x 28 x 1 images and 10 classes. The paper
    trains it with ELU and ReLU, at learning rate 0.01 for 200 epochs, and records the
    median activation of each unit.

    The hidden layers are named `dense<i>`, their activations `act_dense<i>`. The
    arguments are documented in `elu_zoo.get_model`.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    image, x = _flat_input(input_shape, preprocessing)
    x = _hidden_layers(x, "dense", HIDDEN_5X256, activation, batch_norm, width, seed)
    logits = blocks.classifier(x, num_classes, _he_uniform(seed, "classifier"))
    return keras.Model(image, logits, name="mnist_mlp_5x256")


@register_model(
    section="4.1.2 Autoencoder learning, figure 3", loss="sigmoid_cross_entropy", code="code"
)
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
    layer is linear, as in the program of Martens (2010), who made this benchmark. The
    output has one logit per pixel; the sigmoid of the logit is the reconstruction.

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
    x = _hidden_layers(x, "encoder", ENCODER, activation, batch_norm, width, seed)
    code = blocks.scaled_units(CODE, width)
    x = blocks.dense(x, code, "code", _he_uniform(seed, "code"))
    x = _hidden_layers(x, "decoder", DECODER, activation, batch_norm, width, seed)
    initial = _he_uniform(seed, "pixels")
    x = blocks.dense(x, pixels, "pixels", initial, dtype="float32")
    x = keras.layers.Reshape(input_shape, name="reconstruction", dtype="float32")(x)
    return keras.Model(image, x, name="mnist_autoencoder")


def _flat_input(input_shape, preprocessing):
    image, x = image_input(input_shape, preprocessing)
    return image, keras.layers.Flatten(name="flatten")(x)


def _hidden_layers(
    x, prefix: str, units: Sequence[int], activation: Any, batch_norm: bool, width: float, seed: int
):
    """Returns the output of hidden layers `<prefix><i>` with their activations."""
    for i, layer_units in enumerate(units, 1):
        name, layer_units = f"{prefix}{i}", blocks.scaled_units(layer_units, width)
        x = blocks.dense(x, layer_units, name, _he_uniform(seed, name))
        x = blocks.norm_act(x, name, activation, batch_norm, seed)
    return x


def _he_uniform(seed: int, name: str) -> HeUniform:
    return HeUniform(layer_seed(seed, name))
