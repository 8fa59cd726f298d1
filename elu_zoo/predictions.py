"""Input and output of a model: image files, preprocessing, names of classes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import errors, registry
from elu_zoo.data import image_files, plausibility
from elu_zoo.layers import preprocess, statistics_file
from elu_zoo.weights import manifest, pretrained
from elu_zoo.weights.pretrained import Pretrained

Weights = str | os.PathLike | Pretrained | None


def load_image(
    path: str | os.PathLike,
    name: str,
    weights: Weights = None,
    *,
    invert: bool = False,
) -> np.ndarray:
    """Reads an image file as a model takes it: what elu-zoo-predict feeds the model.

    The file is PNG or JPEG, of any size. It is turned upright as its EXIF data say,
    transparency is laid on white, colours become grey for a model of grey images (and
    grey becomes colours), and another size is resized, bilinear with antialiasing,
    without keeping proportions. A warning is logged where the image looks like pixels
    in [0, 1], or where its background is not black for a model of MNIST's light digits
    on black.

    Args:
        path: of the file.
        name: the model's name.
        weights: as of `get_model`; the image gets the shape that they were trained
            on. None for the shape that the model is registered with.
        invert: take 255 - pixels, for dark digits on white.

    Returns:
        A uint8 array `(1, height, width, channels)`, 0..255, for a model with its
        preprocessing, as `get_model` returns it; for a model without, pass the array
        through `preprocess_input` first.

    Raises:
        NotFoundError: there is no such file.
        DataError: the file cannot be read or decoded as PNG or JPEG.
        UsageError: an unknown name, or unknown weights.

    Example:
        >>> image = elu_zoo.load_image("digit.png", "mnist_mlp_8x128", invert=True)
        >>> model = elu_zoo.get_model("mnist_mlp_8x128", weights="mnist")
        >>> elu_zoo.decode_predictions(model(image), "mnist_mlp_8x128", "mnist")
    """
    found = pretrained.find(name, weights)
    shape = _raw_shape(registry.entry(name), found)
    path = Path(path).expanduser()
    image = image_files.read_image(path, shape)[None]
    complaint = plausibility.scale_complaint(image, [str(path)])
    image = 255 - image if invert else image
    if plausibility.takes_light_on_black(shape, found and found.dataset):
        ground = plausibility.ground_complaint
        complaint += ground(image, [str(path)], "invert=True", invert)
    if complaint:
        logging.warning("%s", complaint)
    return image


def _raw_shape(
    registered: registry.ModelEntry, found: Pretrained | None
) -> tuple[int, int, int]:
    """Returns the shape of the raw images of a model with its preprocessing."""
    preprocessing = (found or registered).preprocessing
    if preprocessing["kind"] == "mean_crop":
        return statistics_file.read_mean(preprocessing["statistics"]).shape
    entry = found.entry if found else None
    own = entry["arguments"].get("input_shape") if entry else None
    return tuple(own or registered.default("input_shape"))


def preprocess_input(
    images: np.ndarray, name: str, weights: Weights = None
) -> np.ndarray:
    """Returns what `get_model(..., preprocessing=False)` takes, as a new array.

    Args:
        images: raw 0..255 images, `(batch, height, width, channels)`.
        name: the model's name.
        weights: as of `get_model`; None for the model's own preprocessing.

    Returns:
        A float32 array `(batch, height, width, channels)`, of the same size unless
        the preprocessing crops; `images` is left as it is. A warning is logged where
        images look like pixels in [0, 1].
    """
    description = (pretrained.find(name, weights) or registry.entry(name)).preprocessing
    images = np.asarray(images)
    if images.ndim != 4:
        raise errors.UsageError(
            "images has the shape (batch, height, width, channels). Received: "
            f"{images.shape}."
        )
    names = [f"images[{i}]" for i in range(len(images))]
    if complaint := plausibility.scale_complaint(images, names):
        logging.warning("%s", complaint)
    return preprocess(images, description)


def decode_predictions(
    predictions: Any, name: str, weights: Weights = None, top: int = 5
) -> list[list[tuple[str, float]]]:
    """Names the most probable classes of each image.

    Args:
        predictions: logits or probabilities, `(batch, num_classes)`; rows that
            are not a distribution already pass through a softmax.
        name: the model's name.
        weights: the weights that made the predictions; None where the model has
            published weights of one data set only.
        top: how many classes, at most.

    Returns:
        For each image, `(class name, probability)` in falling probability.
    """
    if registry.entry(name).is_autoencoder:
        raise errors.UsageError(
            f"{name} is an autoencoder: its output is an image and has no classes."
        )
    values = np.asarray(predictions, dtype=np.float64)
    classes = _class_names(name, weights)
    if values.ndim != 2 or values.shape[1] != len(classes):
        raise errors.UsageError(
            f"predictions has the shape (batch, {len(classes)}), one column for each "
            f"class. Received: {values.shape}."
        )
    if (values < 0).any() or not np.allclose(values.sum(1), 1, atol=1e-2):
        values = np.exp(values - values.max(1, keepdims=True))
        values /= values.sum(1, keepdims=True)
    ranked = np.argsort(-values, axis=1, kind="stable")[:, :top]
    return [
        [(classes[index], float(row[index])) for index in best]
        for row, best in zip(values, ranked, strict=True)
    ]


def _class_names(name: str, weights: Weights) -> list[str]:
    """Returns the names of the classes that weights were trained on.

    Without `weights` they are those of all published weights of the model, which are
    of one data set.
    """
    if weights is not None:
        return pretrained.find(name, weights).classes
    published = [e for e in manifest.published().values() if e["model"] == name]
    if not published:
        raise errors.UsageError(
            f"{name} has no published weights, whose classes could be named. Pass "
            "weights=, the weights that made the predictions."
        )
    if len({tuple(e["classes"]) for e in published}) > 1:
        datasets = sorted({e["dataset"] for e in published})
        raise errors.UsageError(
            f"{name} has weights of several data sets: {', '.join(datasets)}. Pass "
            "weights=, the one whose classes are meant."
        )
    return published[0]["classes"]


def check_classes(
    classes: int,
    weights: Pretrained,
    dataset: str,
    class_names: Sequence[str],
) -> None:
    """Checks that a model's classes are those of a data set; other labels mean nothing.

    Args:
        classes: the number of the model's classes.
        weights: of the model; without an entry only the numbers of classes are
            compared.
        dataset: the name of the data set.
        class_names: its classes.

    Raises:
        UsageError: they differ.
    """
    names = weights.classes
    same = classes == len(class_names)
    if same and (not names or list(names) == list(class_names)):
        return
    origin = weights.entry["tag"] if weights.entry else "The model"
    raise errors.UsageError(
        f"{origin} tells {_described(names, classes)} apart, the data "
        f"set {dataset} has {_described(class_names, len(class_names))}. Name the data "
        "set that the weights were trained on, or other weights."
    )


def _described(names: Sequence[str], count: int) -> str:
    more = ", ..." * (len(names) > 3)
    first = f" ({', '.join(names[:3])}{more})" if names else ""
    return f"{count} classes{first}"
