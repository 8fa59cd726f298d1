"""One way to ask a model for probabilities, exported or not."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from elu_zoo import predictions, zoo
from elu_zoo.export.loaded import load_saved_model


@dataclasses.dataclass(frozen=True)
class Predictor:
    """What a prediction needs.

    Attributes:
        probabilities: from raw 0..255 images `(batch, height, width, channels)` to
            `(batch, num_classes)`.
        image_shape: `(height, width, channels)`.
        class_names: of each column.
    """

    probabilities: Callable[[np.ndarray], np.ndarray]
    image_shape: tuple[int, int, int]
    class_names: Sequence[str]


def from_saved_model(directory: str) -> Predictor:
    """Returns the predictor of an exported model, see `load_saved_model`."""
    loaded = load_saved_model(directory)
    return Predictor(
        lambda images: loaded.predict(images)["probabilities"],
        loaded.image_shape,
        loaded.class_names,
    )


def from_weights(name: str, **arguments: Any) -> Predictor:
    """Returns the predictor of a model with weights, see `get_model`.

    The classes of a file without an entry have no names: their indices stand in.
    """
    model = zoo.get_model(name, classifier_activation="softmax", **arguments)
    indices = [str(index) for index in range(model.output_shape[-1])]
    return Predictor(
        lambda images: np.asarray(model(images)),
        tuple(model.input_shape[1:]),
        predictions.class_names(name, **arguments) or indices,
    )


def ranked(
    predictor: Predictor, images: np.ndarray, top: int
) -> list[dict[str, float]]:
    """Returns the `top` most probable classes of each image, the best first."""
    probabilities = predictor.probabilities(images)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    return [
        {predictor.class_names[i]: round(float(row[i]), 6) for i in best}
        for row, best in zip(probabilities, order, strict=True)
    ]
