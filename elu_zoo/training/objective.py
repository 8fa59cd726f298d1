"""What a run minimises and what it measures, for labels as for images."""

from typing import Any

import keras
import numpy as np

from elu_zoo import predictions
from elu_zoo.data.sources import Split
from elu_zoo.layers import preprocessing_layers
from elu_zoo.training import losses


class Objective:
    """A loss on raw images, labels and a model's outputs, and the measures beside it.

    Args:
        loss: a name of `losses.LOSSES`.
        preprocessing: the model's, see `preprocessing_layers`; an autoencoder's
            targets are its preprocessed images.
    """

    def __init__(self, loss: str, preprocessing: dict[str, Any]):
        self._loss = losses.get(loss)
        self._readout = keras.activations.get(predictions.READOUTS[loss])
        self._preprocessing = preprocessing_layers(preprocessing)

    def __call__(self, images, labels, outputs):
        """Returns the loss of each example, `(batch,)`.

        Args:
            images: raw 0..255 images, floats `(batch, height, width, channels)`.
            labels: integer classes, `(batch,)`.
            outputs: of the model.
        """
        targets = self._pixels(images) if self._loss.of_images else labels
        return self._loss.function(targets, outputs)

    def measure(self, split: Split, outputs: np.ndarray) -> dict[str, float]:
        """Returns means over a split: `loss` and, of labels, `error_percent`.

        Of images it is `squared_error`: the sum over an image's pixels of the squared
        difference between reconstruction and preprocessed image.
        """
        if self._loss.of_images:
            targets = self._pixels(split.images.astype(np.float32))
            found = np.asarray(self._readout(outputs), np.float64)
            squares = (found - np.asarray(targets, np.float64)) ** 2
            name, value = "squared_error", float(squares.sum() / len(split))
        else:
            targets = split.labels
            wrong = int((outputs.argmax(1) != targets).sum())
            name, value = "error_percent", 100 * wrong / len(split)
        each = np.asarray(self._loss.function(targets, outputs), np.float64)
        return {"loss": float(each.mean()), name: value}

    def _pixels(self, images):
        for layer in self._preprocessing:
            images = layer(images)
        return images


def describe(found: dict[str, float], prefix: str = "") -> str:
    """Returns measures as a person reads them: `error 2.38 %, loss 0.1234`."""
    texts = {
        "error_percent": "error {:.2f} %",
        "squared_error": "squared error {:.3f}",
        "loss": "loss {:.4f}",
    }
    named = [(text, prefix + key) for key, text in texts.items()]
    return ", ".join(text.format(found[key]) for text, key in named if key in found)
