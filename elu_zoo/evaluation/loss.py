"""Loss functions by name, and the objective of a run with its error measures."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np

from elu_zoo import registry
from elu_zoo.data.dataset import Split

# Top-5 errors are measured if there are more classes than this number. The paper states
# top-5 errors for ImageNet, but not for CIFAR-100.
_TOP5_ABOVE = 100


def softmax_cross_entropy(labels, logits):
    """Returns -log softmax(logits)[label], in nats, of shape `(batch,)`."""
    return keras.ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def smoothing(labels, logits):
    """Returns the logit of the label minus the mean of all logits, `(batch,)`.

    The softmax cross entropy of the smoothed targets (1 - s) * label + s * uniform is
    the cross entropy of the labels plus s times this term (Szegedy et al., 2016).
    """
    own = keras.ops.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
    return keras.ops.sum(own * logits, axis=-1) - keras.ops.mean(logits, axis=-1)


def squared_hinge(labels, scores):
    """Returns the sum over classes of max(0, 1 - t z)^2, t = 1 for the label, else -1."""
    own = keras.ops.one_hot(labels, scores.shape[-1], dtype=scores.dtype)
    margins = keras.ops.maximum(1 - (2 * own - 1) * scores, 0)
    return keras.ops.sum(keras.ops.square(margins), axis=-1)


def sigmoid_cross_entropy(pixels, logits):
    """Returns the sum of -t log s(z) - (1 - t) log(1 - s(z)), s the sigmoid, in nats."""
    # In max(z, 0) - z t + log(1 + exp(-|z|)), the exponential does not overflow. The
    # derivative at z = 0 is 1/2 - t with `where`, but would be wrong with abs and relu.
    positive = logits >= 0
    maximum = keras.ops.where(positive, logits, 0.0)
    exponential = keras.ops.exp(keras.ops.where(positive, -logits, logits))
    return _sum(maximum - logits * pixels + keras.ops.log1p(exponential))


def half_squared_error(pixels, outputs):
    """Returns half the sum of (y - t)^2 over pixels, of shape `(batch,)`."""
    return 0.5 * _sum(keras.ops.square(outputs - pixels))


def _sum(values):
    return keras.ops.sum(values, axis=tuple(range(1, len(values.shape))))


@dataclasses.dataclass(frozen=True)
class Loss:
    """A loss function and the kind of its targets."""

    function: Callable[[Any, Any], Any]  # (targets, outputs) -> (batch,)
    of_images: bool  # whether the targets are preprocessed images instead of labels


LOSSES = {
    "softmax_cross_entropy": Loss(softmax_cross_entropy, of_images=False),
    "squared_hinge": Loss(squared_hinge, of_images=False),
    "sigmoid_cross_entropy": Loss(sigmoid_cross_entropy, of_images=True),
    "half_squared_error": Loss(half_squared_error, of_images=True),
}


class Objective:
    """Loss and error measures of a model's outputs.

    The targets of an autoencoder are preprocessed images. Label smoothing distributes a
    probability equally over all classes.
    """

    def __init__(self, loss: str, preprocessing: dict[str, Any], label_smoothing: float = 0.0):
        self._loss = LOSSES[loss]
        self._label_smoothing = label_smoothing
        self._readout = keras.activations.get(registry.OUTPUT_ACTIVATION[loss])
        self._preprocessing = []
        if self._loss.of_images:
            from elu_zoo.layers.preprocessing import preprocessing_layers

            self._preprocessing = preprocessing_layers(preprocessing)

    def __call__(self, images, labels, outputs):
        """Returns the loss of each raw image; losses of several heads are added."""
        if self._loss.of_images:
            return self._loss.function(self._pixels(images), outputs)
        if len(outputs.shape) == 2:
            return self._loss.function(labels, outputs)
        heads = range(outputs.shape[1])
        return sum(self._loss.function(labels, outputs[:, i]) for i in heads)

    def smoothing(self, labels, outputs):
        """Returns the loss term of label smoothing, `(batch,)`, or None.

        The term is minimised together with the loss, but not added to recorded losses.
        """
        if not self._label_smoothing:
            return None
        heads = [outputs] if len(outputs.shape) == 2 else keras.ops.unstack(outputs, axis=1)
        added = sum(smoothing(labels, logits) for logits in heads)
        return self._label_smoothing * added

    def measure(self, parts: Iterable[tuple[Split, np.ndarray]]) -> dict[str, float]:
        """Returns means over a split: `loss` and error measures, without auxiliary heads."""
        totals, count = dict[str, float](), 0
        for part, outputs in parts:
            count += len(part)
            for name, values in self.of_images(part, outputs).items():
                totals[name] = totals.get(name, 0.0) + float(values.sum())
        return {name: value / count for name, value in totals.items()}

    def of_images(self, split: Split, outputs: np.ndarray) -> dict[str, np.ndarray]:
        """Returns the measures of each image, `(images,)`; their means are the split's."""
        if self._loss.of_images:
            targets = self._pixels(np.asarray(split.images, np.float32))
            images = np.asarray(self._readout(outputs), np.float64)
            squares = (images - np.asarray(targets, np.float64)) ** 2
            measured = {"squared_error": squares.reshape(len(squares), -1).sum(1)}
        else:
            targets = split.labels
            outputs = outputs if outputs.ndim == 2 else outputs[:, 0]
            wrong = (outputs.argmax(1) != targets) | np.isnan(outputs).any(1)
            measured = {"error_percent": 100.0 * wrong}
            if outputs.shape[1] > _TOP5_ABOVE:
                of_labels = np.take_along_axis(outputs, targets[:, None], 1)
                # Outputs equal to that of the class, and NaN, count as larger. The sum
                # includes the output of the class itself, and therefore is at least 1.
                missed = (~(outputs < of_labels)).sum(1) > 5
                measured["top5_error_percent"] = 100.0 * missed
        return {"loss": np.asarray(self._loss.function(targets, outputs), np.float64), **measured}

    def _pixels(self, images):
        for layer in self._preprocessing:
            images = layer(images)
        return images


def describe(found: dict[str, float], prefix: str = "") -> str:
    """Returns measures as text, such as `error 2.38 %, loss 0.1234`."""
    texts = {
        "error_percent": "error {:.2f} %",
        "top5_error_percent": "top-5 error {:.2f} %",
        "squared_error": "squared error {:.3f}",
        "loss": "loss {:.4f}",
    }
    named = [(text, prefix + key) for key, text in texts.items()]
    return ", ".join(text.format(found[key]) for text, key in named if key in found)
