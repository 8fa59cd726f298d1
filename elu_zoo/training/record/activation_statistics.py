"""Mean and median activation of each hidden unit over many images.

Figure 2a of the paper shows means, and figure 7 shows medians, over the epochs.
"""

import dataclasses
import io
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import keras
import numpy as np

from elu_zoo import errors, files
from elu_zoo.evaluation.evaluator import inference

_PART = 1000  # largest number of images in a forward pass
_PART_VALUES = 2**24  # largest number of output values in a forward pass

Forward = Callable[[np.ndarray], list[np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and median of each unit of a network's activation layers.

    A unit of a convolution is a channel, with the values of all positions. Each
    attribute maps the name of each layer, in the order of the network, to a float32
    array `(units,)`.
    """

    mean: dict[str, np.ndarray]
    median: dict[str, np.ndarray]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers, in the order of the network."""
        return tuple(self.mean)

    def median_of_means(self) -> float:
        """Returns the median over all units of their means (paper, figure 2a)."""
        return float(np.median(np.concatenate(list(self.mean.values()))))

    def save(self, path: str | os.PathLike) -> None:
        """Writes an .npz file with arrays `mean/<layer>` and `median/<layer>`."""
        arrays = {f"mean/{name}": array for name, array in self.mean.items()}
        arrays |= {f"median/{name}": array for name, array in self.median.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        files.write_bytes(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Statistics":
        """Reads a file that `save` wrote."""
        loaded = {"mean": {}, "median": {}}
        try:
            with np.load(io.BytesIO(files.read(Path(path)))) as arrays:
                for key in arrays.files:
                    statistic, _, name = key.partition("/")
                    loaded[statistic][name] = arrays[key]
            if not loaded["mean"] or list(loaded["mean"]) != list(loaded["median"]):
                raise ValueError("not a mean and a median of each layer")
        except FileNotFoundError:
            raise errors.NotFoundError(f"There is no file {path}.") from None
        except (
            *(AttributeError, EOFError, KeyError, TypeError, ValueError),
            zipfile.BadZipFile,
        ) as error:
            raise errors.CorruptError(
                f"{path} is not a file of activation statistics: {error!r}. Delete the "
                "file, and record the statistics again."
            ) from error
        return cls(**loaded)


class ActivationStatistics:
    """Computes the `Statistics` of a model with its current weights.

    The model is traced once. Means and medians are exact, because all values of a layer
    are held in memory, which needs 4 bytes per image, position and channel.

    Args:
        model: a model whose activation layers are named `act_...`.
    Example:

    >>> statistics = ActivationStatistics(model)
    >>> statistics(images).median_of_means()
    0.0731
    """

    def __init__(self, model: keras.Model):
        self._model = model
        self._layers = activation_layers(model)
        self._forwards = [forward(model, [layer.output]) for layer in self._layers]

    def __call__(self, images: np.ndarray) -> Statistics:
        """Returns the statistics over images `(n, height, width, channels)`."""
        check_images(self._model, images)
        mean, median = {}, {}
        for layer, compute in zip(self._layers, self._forwards, strict=True):
            units = layer.output.shape[-1]
            size = values(layer)
            rows = np.empty((units, len(images), size // units), "float32")
            for start, part in parts(images, _PART_VALUES // size):
                (outputs,) = compute(part)
                outputs = outputs.reshape(len(part), -1, units)
                rows[:, start : start + len(part)] = outputs.transpose(2, 0, 1)
            name = layer.name
            mean[name], median[name] = _mean_and_median(rows.reshape(units, -1))
        return Statistics(mean, median)


def activation_layers(model: keras.Model) -> list[keras.Layer]:
    """Returns the layers named `act_...`; raises `UsageError` if there is none."""
    layers = [layer for layer in model.layers if layer.name.startswith("act_")]
    if not layers:
        raise errors.UsageError(
            f"{model.name} needs layers whose names begin with act_. Received the "
            f"layers {', '.join(layer.name for layer in model.layers)}. Rename the "
            "activation layers."
        )
    return layers


def values(layer: keras.Layer) -> int:
    """Returns the number of output values of a layer for one image."""
    return math.prod(layer.output.shape[1:])


def check_images(model: keras.Model, images: np.ndarray) -> None:
    """Checks the number and the shape of images for a model."""
    shape = tuple(model.input_shape[1:])
    if np.shape(images)[1:] != shape or not len(images):
        raise errors.UsageError(
            f"{model.name} needs one or more images of shape {shape}. Received: an "
            f"array of shape {np.shape(images)}."
        )


def parts(images: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yields `(start, part)` for parts of at most min(`most`, 1000) images."""
    size = max(1, min(_PART, most))
    for start in range(0, len(images), size):
        yield start, images[start : start + size]


def forward(model: keras.Model, tensors: Sequence[keras.KerasTensor]) -> Forward:
    """Returns a function from images to the values of tensors, as float32 arrays.

    Args:
        model: a model with one input. Each call uses its current weights.
        tensors: outputs or inputs of the model's layers.
    """
    call = inference(keras.Model(model.inputs[0], list(tensors)))

    def compute(images):
        # For a single tensor, Keras returns an array instead of a list.
        arrays = keras.tree.flatten(call(np.asarray(images, "float32")))
        return [np.asarray(array, "float32") for array in arrays]

    return compute


def _mean_and_median(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean and median of each row; both are NaN for a row with NaN."""
    mean, median = rows.mean(axis=1), rows.min(axis=1)
    middle = rows.shape[1] // 2
    # The minimum is the median of a row if more than half of the row equals it.
    # `partition` would be slow for many equal values, such as zeros of a rectifier.
    tied = (rows == median[:, None]).sum(axis=1) > middle
    untied = ~(tied | np.isnan(median))
    rows = rows[untied]
    rows.partition(middle, axis=1)
    if rows.shape[1] % 2:
        median[untied] = rows[:, middle]
    else:  # a second `partition` would double the time
        median[untied] = (rows[:, :middle].max(axis=1) + rows[:, middle]) / 2
    return mean, median
