"""The fully connected networks of the paper's MNIST experiments (section 4.1)."""

import keras

from elu_zoo import errors
from elu_zoo.models.dense import dense_autoencoder, dense_stack
from elu_zoo.registry import register_model


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

    217,354 parameters with 28 x 28 x 1 images and 10 classes. The paper trains it
    with SGD at learning rate 0.01 and batches of 64 for 300 epochs, from He's
    initialisation, with ELU, ReLU and leaky ReLU.

    Args:
        activation: a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class,
            a registered callable or a factory; see `elu_zoo.activations.make`.
        batch_norm: normalise between each hidden layer and its activation.
        num_classes: number of logits.
        input_shape: `(height, width, channels)`.
        width: factor on the 128 units.
        hidden_layers: how many; the paper has eight.
        seed: equal seeds give bit-equal initial weights for every activation,
            with or without batch normalisation.
        preprocessing: layers on the raw image; None for a preprocessed input.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    if not isinstance(hidden_layers, int) or hidden_layers < 1:
        raise errors.UsageError(
            "hidden_layers is a whole number >= 1. Received: "
            f"hidden_layers={hidden_layers!r}."
        )
    return dense_stack(
        (128,) * hidden_layers,
        name="mnist_mlp_8x128",
        activation=activation,
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
        preprocessing=preprocessing,
    )


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

    466,698 parameters with 28 x 28 x 1 images and 10 classes. The paper trains it
    at learning rate 0.01 for 200 epochs, with ELU and ReLU, and follows each unit's
    median activation.

    Args:
        activation: a name, a mapping `{"name": ..., "alpha": ...}`, a Layer class,
            a registered callable or a factory; see `elu_zoo.activations.make`.
        batch_norm: normalise between each hidden layer and its activation.
        num_classes: number of logits.
        input_shape: `(height, width, channels)`.
        width: factor on the 256 units.
        seed: equal seeds give bit-equal initial weights for every activation,
            with or without batch normalisation.
        preprocessing: layers on the raw image; None for a preprocessed input.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.

    Raises:
        UsageError: an argument is out of its range.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    return dense_stack(
        (256,) * 5,
        name="mnist_mlp_5x256",
        activation=activation,
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
        preprocessing=preprocessing,
    )


@register_model(
    section="4.1.2 Autoencoder learning, figure 3",
    loss="sigmoid_cross_entropy",
    code="code",
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

    2,837,314 parameters with 28 x 28 x 1 images. The paper trains it with SGD on
    batches of 64 for 500 epochs, at four learning rates, and leaves loss, code and
    output open; as in the benchmark's own code (Martens, 2010) the code is linear,
    and the output is one logit a pixel, whose sigmoid is the reconstruction.

    Args:
        activation: of the six hidden layers, see `elu_zoo.activations.make`.
        batch_norm: normalise between each hidden layer and its activation; not the
            code, which has none.
        input_shape: `(height, width, channels)`.
        width: factor on the units of the hidden layers and of the code.
        seed: equal seeds give bit-equal initial weights for every activation,
            with or without batch normalisation.
        preprocessing: layers on the raw image; None for an input in [0, 1].

    Returns:
        A model from `(batch, height, width, channels)` to logits of the same shape;
        `features="code"` or `include_top=False` give the code, `(batch, 30)`.

    Raises:
        UsageError: an argument is out of its range.

    Reference: [Clevert et al., 2016](https://arxiv.org/abs/1511.07289).
    """
    return dense_autoencoder(
        (1000, 500, 250),
        30,
        (250, 500, 1000),
        name="mnist_autoencoder",
        activation=activation,
        batch_norm=batch_norm,
        input_shape=input_shape,
        width=width,
        seed=seed,
        preprocessing=preprocessing,
    )
