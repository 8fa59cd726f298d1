"""Fully connected networks: lists of units to Keras graphs."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo.initializers import HeUniform, layer_seed
from elu_zoo.layers import image_input
from elu_zoo.models.arguments import check_builder_arguments, scaled_units
from elu_zoo.models.units import activated


def dense_stack(
    units: Sequence[int],
    *,
    name: str,
    activation: Any,
    batch_norm: bool,
    num_classes: int,
    input_shape: tuple[int, int, int],
    width: float,
    seed: int,
    preprocessing: dict[str, Any] | None,
) -> keras.Model:
    """Builds fully connected layers of these units and a linear classifier.

    Each hidden layer is `dense<i>`, with `batch_norm` followed by `norm_dense<i>`,
    and its activation `act_dense<i>`. Weights start as He uniform, biases as zero,
    for every activation (paper, section 4.1).

    Args:
        units: units of each hidden layer at `width=1`.
        name: the model's name.
        activation: see `elu_zoo.activations.make`.
        batch_norm: normalise between the layer and its activation, over the
            whole batch of all replicas.
        num_classes: units of the classifier.
        input_shape: `(height, width, channels)` of an image.
        width: factor on `units`.
        seed: the run's seed.
        preprocessing: layers on the raw image, see `preprocessing_layers`; None
            for an input that is preprocessed already.

    Returns:
        A model from `(batch, height, width, channels)` to logits
        `(batch, num_classes)`.
    """
    input_shape = check_builder_arguments(
        batch_norm=batch_norm,
        num_classes=num_classes,
        input_shape=input_shape,
        width=width,
        seed=seed,
    )
    image, x = _flat_input(input_shape, preprocessing)
    for index, layer_units in enumerate(units, 1):
        layer_units = scaled_units(layer_units, width)
        x = _hidden(x, layer_units, f"dense{index}", activation, batch_norm, seed)
    # The loss wants float32 logits whatever the precision of the layers before.
    logits = _dense(num_classes, "classifier", seed, dtype="float32")(x)
    return keras.Model(image, logits, name=name)


def dense_autoencoder(
    encoder: Sequence[int],
    code: int,
    decoder: Sequence[int],
    *,
    name: str,
    activation: Any,
    batch_norm: bool,
    input_shape: tuple[int, int, int],
    width: float,
    seed: int,
    preprocessing: dict[str, Any] | None,
) -> keras.Model:
    """Builds a fully connected autoencoder with a linear code and linear output.

    Hidden layers are `encoder<i>` and `decoder<i>`, with norms and activations as in
    `dense_stack`; between them stands `code`, and at the end `pixels`, in the
    image's shape `reconstruction`.

    Args:
        encoder: units of each hidden layer before the code at `width=1`.
        code: units of the code at `width=1`.
        decoder: units of each hidden layer after the code at `width=1`.
        name: the model's name, as are the other arguments those of `dense_stack`.

    Returns:
        A model from `(batch, height, width, channels)` to one number a pixel, of
        the same shape.
    """
    input_shape = check_builder_arguments(
        batch_norm=batch_norm, input_shape=input_shape, width=width, seed=seed
    )
    image, x = _flat_input(input_shape, preprocessing)
    pixels = x.shape[-1]
    for index, units in enumerate(encoder, 1):
        units = scaled_units(units, width)
        x = _hidden(x, units, f"encoder{index}", activation, batch_norm, seed)
    x = _dense(scaled_units(code, width), "code", seed)(x)
    for index, units in enumerate(decoder, 1):
        units = scaled_units(units, width)
        x = _hidden(x, units, f"decoder{index}", activation, batch_norm, seed)
    x = _dense(pixels, "pixels", seed, dtype="float32")(x)
    x = keras.layers.Reshape(input_shape, name="reconstruction", dtype="float32")(x)
    return keras.Model(image, x, name=name)


def _flat_input(input_shape, preprocessing):
    image, x = image_input(input_shape, preprocessing)
    return image, keras.layers.Flatten(name="flatten")(x)


def _hidden(x, units, name, activation, batch_norm, seed):
    x = _dense(units, name, seed)(x)
    return activated(x, name, activation, batch_norm, seed)


def _dense(units: int, name: str, seed: int, dtype: str | None = None):
    return keras.layers.Dense(
        units,
        kernel_initializer=HeUniform(layer_seed(seed, name)),
        name=name,
        dtype=dtype,
    )
