"""Calibration of a classifier: negative log-likelihood, calibration error, temperature.

A temperature T divides the logits: p = softmax(z / T). T minimizes the negative log-likelihood of
images on which the network was not trained (Guo et al., 2017, arXiv 1706.04599).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from elu_zoo import errors
from elu_zoo.weights import manifest

BINS = 15
FEW = 1000  # images; fewer say little about calibration
_LOWEST, _HIGHEST = 0.01, 100.0  # temperatures
# Fields in which the configs of twins may differ. Boundaries are numbers of iterations.
_OF_TWINS = {"data.train_on_validation", "data.measure_test"}
_OF_TWINS |= {f"train.{key}" for key in ("boundaries", "evaluate_every", "checkpoint_every")}


def measure(
    logits: np.ndarray, labels: np.ndarray, temperature: float | None = None
) -> dict[str, float]:
    """Returns `nll_nats`, in nats per image, and `ece_percent`, in percentage points.

    With a temperature also `temperature`, and both numbers as `<name>_at_temperature`.
    """
    logarithms = _log_softmax(logits)
    log_likelihoods = np.take_along_axis(logarithms, np.asarray(labels)[:, None], 1)
    error = calibration_error(np.exp(logarithms.max(1)), logarithms.argmax(1) == labels)
    result = {"nll_nats": -float(log_likelihoods.mean()), "ece_percent": 100 * error}
    if temperature is not None:
        scaled = measure(np.asarray(logits, np.float64) / temperature, labels)
        result["temperature"] = temperature
        result |= {f"{name}_at_temperature": value for name, value in scaled.items()}
    return result


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.asarray(logits, np.float64) - np.max(logits, 1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def calibration_error(confidences: np.ndarray, is_right: np.ndarray) -> float:
    """Returns the expected calibration error, in [0, 1], with 15 bins of equal width.

    Bin i has the confidences in (i / 15, (i + 1) / 15]. It contributes the distance between
    the mean largest probability and the accuracy of its images, weighted by their number.
    """
    bins = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    return float(np.abs(np.bincount(bins, confidences - is_right)).sum() / len(confidences))


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """Returns the temperature with the smallest negative log-likelihood.

    It is convex in 1 / T, so that bisection of its derivative finds the smallest value.
    """
    logits = np.asarray(logits, np.float64)
    label_logit = np.take_along_axis(logits, np.asarray(labels)[:, None], 1).mean()

    def slope(inverse: float) -> float:
        mean = (np.exp(_log_softmax(inverse * logits)) * logits).sum(1).mean()
        return float(mean - label_logit)

    low, high = 1 / _HIGHEST, 1 / _LOWEST
    if not slope(low) < 0 < slope(high):
        raise errors.DataError(f"No temperature fits these {len(logits)} images. Fit it on more.")
    for _ in range(60):  # halvings
        middle = (low * high) ** 0.5
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return (low * high) ** -0.5


def has_held_out(entry: manifest.Entry) -> bool:
    """Returns whether a run has validation images on which it and its parent were not trained."""
    parent = manifest.published().get(entry.get("parent", ""), entry)
    of_data = [parent] * (parent["dataset"] == entry["dataset"])
    of_mnist = (entry["dataset"], parent["dataset"]) == ("mnist_5k", "mnist")
    fields = (each["config"].get("data", {}) for each in (entry, *of_data))
    trained = of_mnist or any(each.get("train_on_validation", False) for each in fields)
    return not trained and bool(entry.get("examples", {}).get("validation"))


def is_twin(entry: manifest.Entry, other: manifest.Entry, neutral: Mapping[str, Any]) -> bool:
    """Whether `other` repeats a run with held-out images; fields of `neutral` may be absent."""
    return _recipe(entry, neutral) == _recipe(other, neutral) and has_held_out(other)


def _recipe(entry: manifest.Entry, neutral: Mapping[str, Any]) -> dict:
    """Returns what twins have in common."""
    recipe = {key: entry[key] for key in ("model", "dataset", "arguments", "seed")}
    recipe["name"] = entry["config"]["name"].replace("-validation", "")
    for section in ("data", "model", "train"):
        fields = {f"{section}.{key}": value for key, value in entry["config"][section].items()}
        recipe |= {k: v for k, v in fields.items() if k not in _OF_TWINS and v != neutral.get(k)}
    return recipe


def describe(found: dict[str, float]) -> str:
    """Returns the results of `measure` among other measures as text, with their names."""
    own = (name for name in found if name == "temperature" or name[:4] in ("nll_", "ece_"))
    return ", ".join(f"{name} {found[name]:.4g}" for name in own)
