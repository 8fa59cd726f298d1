"""What a run minimises and what it measures, for labels as for images."""

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from elu_zoo import registry
from elu_zoo.data.dataset import Split
from elu_zoo.layers import preprocessing_layers
from elu_zoo.training import losses

_TOP5_ABOVE = 100  # classes: the paper measures it on ImageNet, not on CIFAR-100


class Objective:
    """A loss on raw images, labels and a model's outputs, and the measures beside it.

    Args:
        loss: a name of `losses.LOSSES`.
        preprocessing: the model's, see `preprocessing_layers`; an autoencoder's
            targets are its preprocessed images.
        label_smoothing: the share of a label's probability that goes to all classes
            alike, in what is minimised; of the softmax cross entropy.
    """

    def __init__(
        self, loss: str, preprocessing: dict[str, Any], label_smoothing: float = 0.0
    ):
        self._loss = losses.get(loss)
        self._label_smoothing = label_smoothing
        self._readout = keras.activations.get(registry.READOUTS[loss])
        of_images = self._loss.of_images
        self._preprocessing = preprocessing_layers(preprocessing) if of_images else ()

    def __call__(self, images, labels, outputs):
        """Returns the loss of each example, `(batch,)`.

        Args:
            images: raw 0..255 images, floats `(batch, height, width, channels)`.
            labels: integer classes, `(batch,)`.
            outputs: of the model; of one with auxiliary heads `(batch, heads,
                num_classes)`, whose losses are added.
        """
        if self._loss.of_images:
            return self._loss.function(self._pixels(images), outputs)
        if len(outputs.shape) == 2:
            return self._loss.function(labels, outputs)
        heads = range(outputs.shape[1])
        return sum(self._loss.function(labels, outputs[:, i]) for i in heads)

    def smoothing(self, labels, outputs):
        """Returns what label smoothing adds to the loss of each example, `(batch,)`.

        It is minimised with the loss, and recorded nowhere: a recorded loss is that of
        the labels. None without smoothing.

        Args:
            labels: integer classes, `(batch,)`.
            outputs: as of a call.
        """
        if not self._label_smoothing:
            return None
        heads = (
            [outputs] if len(outputs.shape) == 2 else keras.ops.unstack(outputs, axis=1)
        )
        added = sum(losses.smoothing(labels, logits) for logits in heads)
        return self._label_smoothing * added

    def measure(self, parts: Iterable[tuple[Split, np.ndarray]]) -> dict[str, float]:
        """Returns means over a split: `loss` and, of labels, `error_percent`.

        Of more than 100 classes there is also `top5_error_percent`, of images whose
        class is not among the five of the largest outputs. Of an autoencoder's images
        it is `squared_error`: the sum over an image's pixels of the squared difference
        between reconstruction and preprocessed image. Auxiliary heads are not measured.

        Args:
            parts: of the split, each with the model's outputs.
        """
        totals, count = {}, 0
        for part, outputs in parts:
            count += len(part)
            for name, value in self._totals(part, outputs).items():
                totals[name] = totals.get(name, 0.0) + value
        return {name: value / count for name, value in totals.items()}

    def _totals(self, split: Split, outputs: np.ndarray) -> dict[str, float]:
        if self._loss.of_images:
            targets = self._pixels(np.asarray(split.images, np.float32))
            found = np.asarray(self._readout(outputs), np.float64)
            squares = (found - np.asarray(targets, np.float64)) ** 2
            totals = {"squared_error": float(squares.sum())}
        else:
            targets = split.labels
            outputs = outputs if outputs.ndim == 2 else outputs[:, 0]
            wrong = int((outputs.argmax(1) != targets).sum())
            totals = {"error_percent": 100.0 * wrong}
            if outputs.shape[1] > _TOP5_ABOVE:
                own = np.take_along_axis(outputs, targets[:, None], 1)
                # Equal outputs count against it, as its own does.
                missed = int(((outputs >= own).sum(1) > 5).sum())
                totals["top5_error_percent"] = 100.0 * missed
        values = np.asarray(self._loss.function(targets, outputs), np.float64)
        return {"loss": float(values.sum()), **totals}

    def _pixels(self, images):
        for layer in self._preprocessing:
            images = layer(images)
        return images


def describe(found: dict[str, float], prefix: str = "") -> str:
    """Returns measures as a person reads them: `error 2.38 %, loss 0.1234`."""
    texts = {
        "error_percent": "error {:.2f} %",
        "top5_error_percent": "top-5 error {:.2f} %",
        "squared_error": "squared error {:.3f}",
        "loss": "loss {:.4f}",
    }
    named = [(text, prefix + key) for key, text in texts.items()]
    return ", ".join(text.format(found[key]) for text, key in named if key in found)
