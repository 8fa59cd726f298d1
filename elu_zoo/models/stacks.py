"""From the paper's notation of a network to its Keras graph."""

from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import activations
from elu_zoo.initializers import HeUniform, layer_seed
from elu_zoo.layers import preprocessing_layers
from elu_zoo.models.arguments import check_builder_arguments, scaled_units


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
    image = keras.Input(input_shape, name="image")
    x = image
    for layer in preprocessing_layers(preprocessing) if preprocessing else ():
        x = layer(x)
    x = keras.layers.Flatten(name="flatten")(x)
    for index, layer_units in enumerate(units, 1):
        layer_name = f"dense{index}"
        x = _dense(scaled_units(layer_units, width), layer_name, seed)(x)
        if batch_norm:
            x = _batch_normalization(f"norm_{layer_name}")(x)
        act_name = f"act_{layer_name}"
        act_seed = layer_seed(seed, act_name)
        x = activations.make(activation, act_name, seed=act_seed)(x)
    # The loss wants float32 logits whatever the precision of the layers before.
    logits = _dense(num_classes, "classifier", seed, dtype="float32")(x)
    return keras.Model(image, logits, name=name)


def _dense(units: int, name: str, seed: int, dtype: str | None = None):
    return keras.layers.Dense(
        units,
        kernel_initializer=HeUniform(layer_seed(seed, name)),
        name=name,
        dtype=dtype,
    )


def _batch_normalization(name: str):
    # Keras synchronises replicas on TensorFlow only; elsewhere it refuses to.
    return keras.layers.BatchNormalization(
        momentum=0.9,
        epsilon=1e-5,
        synchronized=keras.backend.backend() == "tensorflow",
        name=name,
    )
