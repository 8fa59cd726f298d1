"""Fully connected networks in NumPy and float64, for natural gradient descent."""

import dataclasses
from collections.abc import Callable

import numpy as np

from elu_zoo import errors

Unit = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]
# Each activation and its derivative.
UNITS: dict[str, Unit] = {
    "elu": (
        lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: np.exp(np.minimum(x, 0)),
    ),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
    "leaky_relu": (
        lambda x: np.where(x > 0, x, 0.1 * x),
        lambda x: np.where(x > 0, 1.0, 0.1),
    ),
    "shifted_relu": (lambda x: np.maximum(x, -1), lambda x: (x > -1) * 1.0),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Pass:
    """Results of a forward and a backward pass over a batch.

    Attributes:
        loss: the mean cross-entropy of the labels.
        inputs: inputs of each layer, `(batch, d)`.
        deltas: d ln p(y | z) / d net in each layer, `(batch, units)`, where the labels
            y are drawn from the network's softmax.
        gradients: gradients of the loss in each layer, `(d + 1, units)`, the bias in
            the last row.
    """

    loss: float
    inputs: list[np.ndarray]
    deltas: list[np.ndarray]
    gradients: list[np.ndarray]


class Perceptron:
    """A network of fully connected layers and a softmax.

    Args:
        unit: name of the hidden layers' activation, a key of `UNITS`.
        weights: weights of each layer, `(d + 1, units)`, the bias in the last row.
    """

    def __init__(self, unit: str, weights: list[np.ndarray]):
        if unit not in UNITS:
            raise errors.unknown("activation", unit, UNITS)
        self._unit, self._derivative = UNITS[unit]
        self.weights = [np.asarray(w, np.float64) for w in weights]

    def loss(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Returns the mean cross-entropy of the labels.

        Args:
            images: `(n, d)`.
            labels: integers `(n,)`.
        """
        *_, logits = self._forward(images)[1]
        return _cross_entropy(_log_softmax(logits), labels)

    def passes(
        self, images: np.ndarray, labels: np.ndarray, generator: np.random.Generator
    ) -> Pass:
        """Returns the loss, deltas and gradients of a batch.

        Args:
            images: `(batch, d)`.
            labels: integers `(batch,)`.
            generator: draws the labels y of the deltas, see `Pass`.
        """
        inputs, nets = self._forward(images)
        log_p = _log_softmax(nets[-1])
        p = np.exp(log_p)
        ends = p.cumsum(axis=1)[:, :-1]
        drawn = (generator.random((len(p), 1)) >= ends).sum(axis=1)
        classes = np.eye(p.shape[1])
        deltas = self._backward(nets, classes[drawn] - p)
        by_net = self._backward(nets, (p - classes[labels]) / len(p))
        gradients = [_with_bias(a).T @ d for a, d in zip(inputs, by_net, strict=True)]
        return Pass(_cross_entropy(log_p, labels), inputs, deltas, gradients)

    def _forward(self, images: np.ndarray) -> tuple[list, list]:
        inputs, nets = [], []
        for weights in self.weights:
            inputs.append(self._unit(nets[-1]) if nets else images)
            nets.append(inputs[-1] @ weights[:-1] + weights[-1])
        return inputs, nets

    def _backward(self, nets: list, delta: np.ndarray) -> list[np.ndarray]:
        deltas = [delta]
        for weights, net in zip(self.weights[:0:-1], nets[-2::-1], strict=True):
            deltas.append(deltas[-1] @ weights[:-1].T * self._derivative(net))
        return deltas[::-1]


def _with_bias(inputs: np.ndarray) -> np.ndarray:
    return np.append(inputs, np.ones((len(inputs), 1)), axis=1)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _cross_entropy(log_p: np.ndarray, labels: np.ndarray) -> float:
    return float(-log_p[np.arange(len(labels)), labels].mean())
