"""Predictions of an exported model, or of a model with weights."""

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from elu_zoo import errors, registry, zoo
from elu_zoo.export import named_outputs, origin, pictures
from elu_zoo.export.loaded import load_saved_model
from elu_zoo.weights.pretrained import Pretrained


@dataclasses.dataclass(frozen=True)
class Predictor:
    """An exported model or a model with weights, for predictions.

    Attributes:
        function: a function from raw 0..255 images to outputs, see `named_outputs.make`.
        image_shape: `(height, width, channels)`.
        class_names: in the order of the logits; empty for an autoencoder.
        dataset: the name of the training data set; None if unknown.
        preprocessing: the kind of the preprocessing; None if unknown.
    """

    function: Callable[[np.ndarray], dict[str, np.ndarray]]
    image_shape: tuple[int, int, int]
    class_names: Sequence[str]
    dataset: str | None = None
    preprocessing: str | None = None

    @property
    def is_autoencoder(self) -> bool:
        return not self.class_names


def from_saved_model(directory: str) -> Predictor:
    """Returns the predictor of an exported model, see `load_saved_model`."""
    loaded = load_saved_model(directory)
    origin_fields = origin.read(loaded.path) or {}
    dataset = origin_fields.get("dataset")  # exports of other origin may lack it
    kind = dict(origin_fields.get("preprocessing") or {}).get("kind")
    return Predictor(loaded.predict, loaded.image_shape, loaded.class_names, dataset, kind)


def from_weights(weights: Pretrained) -> Predictor:
    """Returns the predictor of a model with weights."""
    model = zoo.get_model(weights.model, weights=weights)
    function = named_outputs.make(model, **description(model, weights.model, weights))

    def predict(images):
        outputs = function(np.asarray(images, np.float32))
        return {key: value.numpy() for key, value in outputs.items()}

    described = weights.dataset, weights.preprocessing["kind"]
    return Predictor(predict, function.image_shape, function.class_names, *described)


def description(model: keras.Model, name: str, weights: Pretrained | None = None) -> dict[str, Any]:
    """Returns arguments of `export_saved_model`: class_names, temperature and others.

    Without weights or without an entry, the class names are the indices of the classes.
    """
    registered = registry.entry(name)
    if not registered.is_autoencoder:
        indices = [str(index) for index in range(model.output_shape[-1])]
        names = (weights.classes if weights else []) or indices
        layers = [layer.name for layer in model.layers]
        classifier = registered.classifier if registered.classifier in layers else None
        temperature = weights.temperature if weights else 1.0
        described = {"class_names": names, "temperature": temperature}
        return {**described, "autoencoder": None, "classifier": classifier}
    preprocessing = (weights or registered).preprocessing
    if preprocessing["kind"] != "rescale" or np.any(preprocessing.get("offset", 0)):
        raise errors.UsageError(
            "Reconstructions need the preprocessing 'rescale' without an offset; the preprocessing "
            f"of {name} is {preprocessing}."
        )
    autoencoder = named_outputs.Autoencoder(
        code=registered.code,
        readout=registry.OUTPUT_ACTIVATION[(weights or registered).loss],
        scale=preprocessing["scale"],
    )
    return {"class_names": None, "autoencoder": autoencoder, "classifier": None}


def ranked(predictor: Predictor, images: np.ndarray, top: int) -> list[dict[str, Any]]:
    """Returns the `class` and the `top` largest `probabilities` of each image."""
    probabilities = predictor.function(images)["probabilities"]
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    names = _distinct(predictor.class_names)
    largest = [
        {names[i]: round(float(row[i]), 6) for i in best}
        for row, best in zip(probabilities, order, strict=True)
    ]
    return [{"class": next(iter(best)), "probabilities": best} for best in largest]


def _distinct(names: Sequence[str]) -> list[str]:
    """Returns names, with an index for names that several classes share (ImageNet)."""
    counts = collections.Counter(names)
    return [
        name if counts[name] == 1 else f"{name} (class {index})" for index, name in enumerate(names)
    ]


def reconstructed(
    predictor: Predictor, images: np.ndarray
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Returns the `squared_error` and `code` of each image, and the reconstructions.

    The squared error is a sum over the pixels of an image, which are scaled to [0, 1].
    """
    outputs = predictor.function(images)
    reconstructions = outputs["reconstructions"]
    difference = (reconstructions.astype(np.float64) - images) / 255
    squared_errors = (difference**2).sum(axis=(1, 2, 3))
    rows = [
        {"squared_error": round(error, 6), "code": [round(unit, 6) for unit in code]}
        for error, code in zip(squared_errors.tolist(), outputs["codes"].tolist(), strict=True)
    ]
    return rows, reconstructions


def picture(path: str, images: np.ndarray, reconstructions: np.ndarray) -> str:
    """Writes a picture of the reconstructions, and returns a line that describes it."""
    shown = pictures.write_pairs(path, images, reconstructions)
    return f"{shown} of {len(images)} images, each above its reconstruction: {path}"


def text(row: dict[str, Any]) -> dict[str, str]:
    """Returns a row as text for a table, with rounded numbers and without the code."""
    shown = {key: value for key, value in row.items() if key != "code"}
    if "probabilities" in row:
        best = (f"{name} {p:.1%}" for name, p in row["probabilities"].items())
        shown["probabilities"] = "  ".join(best)
    else:
        shown["squared_error"] = f"{row['squared_error']:.3f}"
    return shown
