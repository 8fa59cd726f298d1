"""Inputs and outputs of models: image files, preprocessing and class names."""

import os
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors, registry
from elu_zoo.data import digits, image_files, plausibility, shapes
from elu_zoo.layers import statistics_file
from elu_zoo.layers.preprocessing import preprocess
from elu_zoo.models.preprocessing import of_raw_images, untrained
from elu_zoo.weights import manifest, pretrained
from elu_zoo.weights.pretrained import Pretrained

Weights = str | os.PathLike | Pretrained | None


def load_image(
    path: Any,
    name: str,
    weights: Weights = None,
    *,
    digit: bool = False,
    allow_unverified: bool = False,
) -> np.ndarray:
    """Reads an image of any size as the input of a model.

    The image is rotated by its EXIF data (of JPEG files and Pillow), blended with white
    where it is transparent, converted to the model's channels, and resized (bilinear,
    antialiased) to the model's height and width. Floats in [0, 1] are an error. A
    warning is logged if integers seem to be in [0, 1], or if an image does not look
    like the light digits on black on which the model was trained.

    Args:
        path: path of a PNG, JPEG or WebP file; or the content of the file, an open file, an image
            of Pillow, an array of pixels 0..255 `(height, width)`, `(height, width, channels)` or
            `(batch, height, width, channels)`; or a list of these.
        name: the model's name.
        weights: see `get_model`; None for the default input shape of the model.
        digit: whether to put a photographed or drawn digit, dark on light or light on
            dark, into MNIST's form: light on black, 20 x 20 pixels centred in 28 x 28.
        allow_unverified: see `get_model`.

    Returns:
        A uint8 array `(batch, height, width, channels)`, 0..255, for a model with
        preprocessing; the batch of a path has one image. If the model has none, pass
        the array to `preprocess_input`.

    Raises:
        NotFoundError: the file does not exist.
        DataError: the file cannot be read or decoded, or shows no digit.
        UsageError: the model or the weights are unknown, `path` is something else, the
            model's images are no digits, or pixels are not 0..255.

    Example:
        >>> image = elu_zoo.load_image("digit.png", "mnist_mlp_8x128", digit=True)
        >>> model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")
        >>> elu_zoo.decode_predictions(model(image), "mnist_mlp_8x128", "mnist")
    """
    errors.check_bool("digit", digit)
    trained = pretrained.find(name, weights, allow_unverified=allow_unverified, warns=False)
    shape = shapes.check_shape(_raw_shape(registry.entry(name), trained))
    if digit:
        digits.check_shape(shape, "digit=True")
    read = image_files.read_image(path, shape, digit)
    complaint = " ".join(read.remarks)
    complaint = complaint or plausibility.scale_complaint(read.pixels, read.names)
    # Nearly black pixels, probably 0..1, say nothing about the background.
    on_black = plausibility.takes_light_on_black(shape, trained.dataset if trained else None)
    if on_black and not (complaint or digit):
        complaint = plausibility.ground_complaint(read.pixels, read.names, "digit=True")
    if complaint:
        logging.warning("%s", complaint)
    return read.pixels


def _raw_shape(registered: registry.ModelEntry, trained: Pretrained | None) -> tuple[int, int, int]:
    """Returns the shape of the raw images of a model with preprocessing."""
    preprocessing = trained.preprocessing if trained else untrained(registered)
    if preprocessing["kind"] == "mean_crop":
        return statistics_file.read_mean(preprocessing["statistics"]).shape
    default = registered.default("input_shape")
    shape = (trained.arguments.get("input_shape") if trained else None) or default
    return tuple(usual if n is None else n for n, usual in zip(shape, default, strict=True))


def preprocess_input(
    images: np.ndarray, name: str, weights: Weights = None, *, allow_unverified: bool = False
) -> np.ndarray:
    """Returns preprocessed images, for `get_model(..., preprocessing=False)`.

    A warning is logged if the pixels seem to be in [0, 1].

    Args:
        images: raw 0..255 images, `(batch, height, width, channels)`.
        name: the model's name.
        weights: see `get_model`; None for the default preprocessing of the model.
        allow_unverified: see `get_model`.

    Returns:
        A new float32 array `(batch, height, width, channels)`, of the same size unless
        the preprocessing crops.

    Raises:
        UsageError: the model or the weights are unknown, the shape is wrong, or the file
            does not state a preprocessing.
    """
    found = pretrained.find(name, weights, allow_unverified=allow_unverified, warns=False)
    images = np.asarray(images)
    if images.ndim != 4:
        raise errors.UsageError(
            f"images must be (batch, height, width, channels). Received the shape {images.shape}."
        )
    names = [f"images[{i}]" for i in range(len(images))]
    if complaint := plausibility.scale_complaint(images, names):
        logging.warning("%s", complaint)
    return preprocess(images, of_raw_images(registry.entry(name), found))


def decode_predictions(
    predictions: Any,
    name: str,
    weights: Weights = None,
    top: int = 5,
    *,
    allow_unverified: bool = False,
) -> list[list[tuple[str, float]]]:
    """Returns the names and probabilities of the most probable classes of each image.

    Args:
        predictions: logits or probabilities, `(batch, num_classes)`; unless all rows are
            probabilities, a softmax is applied, at the temperature of `weights` if they have
            one. After a squared hinge (dsn), only the order of the results has a meaning.
        name: the model's name.
        weights: the weights of the model, see `get_model`; those of another activation than the
            default by their tag. None, for a temperature of 1, is possible if all published weights
            have the same classes. Classes of weights without an entry are named by their numbers.
        top: the largest number of classes.
        allow_unverified: see `get_model`.

    Returns:
        For each image, pairs `(class name, probability)`, the most probable first.

    Raises:
        UsageError: the model is an autoencoder, the shape, a value or `top` is wrong, or the
            weights are unknown or ambiguous.
    """
    if registry.entry(name).is_autoencoder:
        raise errors.UsageError(
            f"{name} is an autoencoder: its output is an image and has no classes."
        )
    errors.check_integer("top", top, minimum=1)
    try:
        values = np.asarray(predictions, dtype=np.float64)
    except (TypeError, ValueError):  # such as a dict of outputs
        values = np.array(np.nan)
    if np.isnan(values).any() or np.isposinf(values).any():
        raise errors.UsageError(
            "predictions must be the outputs of a model without NaN and +infinity, such as "
            f"model(images). Received: {reprlib.repr(predictions)}."
        )
    found = pretrained.find(name, weights, allow_unverified=allow_unverified, warns=False)
    classes = found.classes if found else _published_classes(name)
    if not classes and values.ndim == 2:  # weights without an entry
        classes = [str(index) for index in range(values.shape[1])]
    if values.ndim != 2 or values.shape[1] != len(classes):
        raise errors.UsageError(
            f"predictions must have the shape (batch, {len(classes)}), with one column "
            f"for each class. Received: {values.shape}. Pass the name and the weights "
            "of the model that made the predictions."
        )
    if (values < 0).any() or not np.allclose(values.sum(1), 1, atol=1e-2):
        temperature = found.temperature if found else 1.0
        values = np.exp((values - values.max(1, keepdims=True)) / temperature)
        values /= values.sum(1, keepdims=True)
    ranked = np.argsort(-values, axis=1, kind="stable")[:, :top]
    return [
        [(classes[index], float(row[index])) for index in best]
        for row, best in zip(values, ranked, strict=True)
    ]


def _published_classes(name: str) -> Sequence[str]:
    """Returns the class names that all published weights of a network have."""
    found = {tuple(e["classes"]) for e in manifest.published().values() if e["model"] == name}
    if len(found) != 1:
        which = "weights of several data sets" if found else "no published weights"
        raise errors.UsageError(
            f"{name} has {which}. Pass weights=, with the weights that made the predictions."
        )
    return found.pop()
