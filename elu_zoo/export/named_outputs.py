"""Functions from raw images to the named outputs of an exported model."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from elu_zoo import errors

FEATURES = "features"
_READOUTS = {"sigmoid": tf.sigmoid, "linear": tf.identity}


@dataclasses.dataclass(frozen=True)
class Autoencoder:
    """Description of the outputs of an autoencoder.

    Attributes:
        code: the name of the layer that outputs the code, (batch, units).
        readout: the function from outputs to scaled pixels: "sigmoid" for outputs of
            one logit per pixel, or "linear".
        scale: the factor by which the preprocessing multiplies raw pixels, and by which
            outputs are divided to have the range of the raw images.
    """

    code: str
    readout: str
    scale: float

    def __post_init__(self):
        errors.check_choice("readout", self.readout, _READOUTS)
        errors.check_number("scale", self.scale, errors.POSITIVE)


@dataclasses.dataclass(frozen=True)
class NamedOutputs:
    """A function from raw images to named outputs.

    Attributes:
        model: a model from raw images (batch, height, width, channels) to the argument
            of `read`.
        read: a function from the output of `model` to outputs by name.
        readout: the activation that `read` applies to the first output of `model`.
        compared: the outputs that the parity check compares, and those of ONNX and LiteRT.
        class_names: in the order of the logits; () for an autoencoder.
        temperature: the divisor of the logits in `probabilities`.
        has_features: whether `read` also returns `features`, the classifier's input.
    """

    model: keras.Model
    read: Callable[[Any], dict[str, tf.Tensor]]
    readout: str
    compared: tuple[str, ...]
    class_names: tuple[str, ...] = ()
    temperature: float = 1.0
    has_features: bool = False

    def __call__(self, images: Any) -> dict[str, tf.Tensor]:
        outputs = self.all_outputs(images)
        return {name: outputs[name] for name in outputs if name != FEATURES}

    def all_outputs(self, images: Any) -> dict[str, tf.Tensor]:
        """Returns all outputs by name, with `features` if the function has them."""
        outputs = self.read(self.model(images, training=False))
        if self.class_names:
            outputs["labels"] = tf.gather(tf.constant(self.class_names), outputs["classes"])
        return outputs

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of the images."""
        return tuple(self.model.inputs[0].shape[1:])


def make(
    model: keras.Model,
    class_names: Sequence[str] | None,
    autoencoder: Autoencoder | None,
    classifier: str | None = None,
    temperature: float = 1.0,
) -> NamedOutputs:
    """Returns the function of a classifier or of an autoencoder.

    The outputs of a classifier are `logits` and `probabilities`, the softmax of logits /
    temperature, both float32 (batch, classes), and `classes`, int64 (batch,), the index of the
    largest logit, and `labels`, string (batch,), the name of this class. With the argument
    `classifier`, another output is `features`, float32 (batch, units): the input of the classifier
    layer, averaged over the pixels if it is a feature map. The outputs of an autoencoder
    are `reconstructions`, float32 in the shape and range of the images, and `codes`,
    float32 (batch, units). See `export_saved_model` for the arguments.
    """
    if (class_names is None) == (autoencoder is None):
        raise errors.UsageError(
            "Pass class_names for a classifier, or autoencoder for an autoencoder; "
            f"got {'neither' if class_names is None else 'both'}."
        )
    temperature = errors.positive_float32("temperature", temperature)
    if autoencoder is None:
        return _classifier(model, class_names, classifier, temperature)
    if not isinstance(autoencoder, Autoencoder):
        raise errors.UsageTypeError(
            f"autoencoder must be an Autoencoder(code, readout, scale), got {autoencoder!r}."
        )
    return _autoencoder(model, autoencoder)


def _classifier(
    model: keras.Model, class_names: Sequence[str], classifier: str | None, temperature: float
) -> NamedOutputs:
    _check_form(model, "(batch, classes)", lambda _, y: len(y) == 2 and y[-1])
    classes = model.outputs[0].shape[-1]
    if isinstance(class_names, str):
        raise errors.UsageTypeError("class_names must be a list of names, got one str.")
    if len(class_names) != classes:
        raise errors.UsageError(
            f"The model has {classes} classes, but class_names has {len(class_names)}."
        )
    for name in class_names:
        if not isinstance(name, str) or name.splitlines() != [name]:
            raise errors.UsageError(f"A class name must be one line, got {name!r}.")
    if classifier is not None:
        features = _known_layer(model, classifier).input
        model = _with_output(model, features, classifier)

    def read(outputs):
        logits, features = outputs if classifier else (outputs, None)
        logits = tf.cast(logits, tf.float32)
        function = {
            "logits": logits,
            "probabilities": tf.nn.softmax(logits / temperature),
            "classes": tf.argmax(logits, axis=-1, output_type=tf.int64),
        }
        if features is not None:
            function[FEATURES] = _pooled(features)
        return function

    compared, names = ("logits",), tuple(class_names)
    has_features = classifier is not None
    return NamedOutputs(model, read, "softmax", compared, names, temperature, has_features)


def _pooled(features: tf.Tensor) -> tf.Tensor:
    """Returns features as float32 (batch, units): the mean over the pixels of a map."""
    pixel_axes = list(range(1, len(features.shape) - 1))
    return tf.reduce_mean(tf.cast(features, tf.float32), pixel_axes)


def _autoencoder(model: keras.Model, autoencoder: Autoencoder) -> NamedOutputs:
    _check_form(model, "of the same shape", lambda x, y: x == y)
    code = _known_layer(model, autoencoder.code).output
    shapes = [tuple(tensor.shape) for tensor in keras.tree.flatten(code)]
    if [len(shape) for shape in shapes] != [2] or not shapes[0][-1]:
        raise errors.UsageError(
            "The code must be one output (batch, units), but the layer "
            f"{autoencoder.code!r} has {shapes}."
        )
    with_code = _with_output(model, code, autoencoder.code)
    apply, factor = _READOUTS[autoencoder.readout], 1 / autoencoder.scale

    def read(outputs):
        pixels, codes = (tf.cast(output, tf.float32) for output in outputs)
        return {"reconstructions": apply(pixels) * factor, "codes": codes}

    return NamedOutputs(with_code, read, autoencoder.readout, ("reconstructions", "codes"))


def _known_layer(model: keras.Model, name: str) -> keras.layers.Layer:
    names = [layer.name for layer in model.layers]
    errors.check_choice(f"layer of {model.name}", name, names)
    return model.get_layer(name)


def _with_output(model: keras.Model, tensor: Any, layer: str) -> keras.Model:
    """Returns the model with a second output, the tensor of the named layer."""
    try:
        return keras.Model(model.inputs[0], [model.outputs[0], tensor], name=model.name)
    except ValueError as error:
        raise errors.UsageError(
            f"The layer {layer!r} was part of another model before. Export a model "
            "that shares no layers with other models."
        ) from error


def _check_form(model: keras.Model, output: str, fits: Callable) -> None:
    inputs = [tuple(tensor.shape) for tensor in getattr(model, "inputs", None) or ()]
    outputs = [tuple(tensor.shape) for tensor in getattr(model, "outputs", None) or ()]
    takes_images = [len(shape) for shape in inputs] == [4] and inputs[0][-1] in (1, 3)
    takes_images = takes_images and None not in inputs[0][1:]
    if not (takes_images and len(outputs) == 1 and fits(inputs[0], outputs[0])):
        raise errors.UsageError(
            "The model must map one image input (batch, height, width, 1 or 3) of "
            f"fixed size to one output {output}, got {inputs} to {outputs}. "
            "Pass class_names for a classifier, or autoencoder for an autoencoder."
        )
