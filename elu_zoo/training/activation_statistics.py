"""Mean and median activation of each hidden unit over many images.

Figure 2a of the paper shows the means, figure 7 the medians, epoch by epoch.
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
from elu_zoo.training.evaluate import inference

_PART = 1000  # images of a forward pass
_PART_VALUES = 2**24  # of the read layers in a forward pass, at most
_HELD_VALUES = 2**28  # 1 GiB in float32

Forward = Callable[[np.ndarray], list[np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of each unit of a network's activation layers.

    A unit of a convolution is a channel, with the values of all positions.

    Attributes:
        mean: by the layer's name, in the network's order, float32 `(units,)`.
        median: likewise.
    """

    mean: dict[str, np.ndarray]
    median: dict[str, np.ndarray]

    @property
    def names(self) -> tuple[str, ...]:
        """The layers' names, in the network's order."""
        return tuple(self.mean)

    def median_of_means(self) -> float:
        """Returns the median over all units of their means (paper, figure 2a)."""
        return float(np.median(np.concatenate(list(self.mean.values()))))

    def save(self, path: str | os.PathLike) -> None:
        """Writes an .npz file, atomically: `mean/<layer>` and `median/<layer>`."""
        arrays = {f"mean/{name}": array for name, array in self.mean.items()}
        arrays |= {f"median/{name}": array for name, array in self.median.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        files.write_bytes(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Statistics":
        """Reads what `save` wrote.

        Raises:
            NotFoundError: there is no such file.
            CorruptError: it is damaged, or another kind of file.
        """
        found = {"mean": {}, "median": {}}
        try:
            with np.load(io.BytesIO(Path(path).read_bytes())) as arrays:
                for key in arrays.files:
                    statistic, _, name = key.partition("/")
                    found[statistic][name] = arrays[key]
            if not found["mean"] or list(found["mean"]) != list(found["median"]):
                raise ValueError("not a mean and a median of each layer")
        except FileNotFoundError:
            raise errors.NotFoundError(f"There is no file {path}.") from None
        except (
            *(AttributeError, EOFError, KeyError, TypeError, ValueError),
            zipfile.BadZipFile,
        ) as error:
            raise errors.CorruptError(
                f"{path} has no activation statistics: {error!r}."
            ) from error
        return cls(**found)


class ActivationStatistics:
    """Measures the units of one model, again after each change of its weights.

    The model is traced once. Means and medians are exact, for which all values of a
    unit are in memory, 4 bytes an image, position and channel. Layers are measured
    together as far as they fit 1 GiB, and by further forward passes otherwise.

    Args:
        model: its activation layers are named `act_...`, as in every network of the
            zoo.

    Raises:
        UsageError: the model has no such layer.

    Example:

    >>> statistics = ActivationStatistics(model)
    >>> statistics(images).median_of_means()
    0.0731
    """

    def __init__(self, model: keras.Model):
        self._model = model
        self._layers = activation_layers(model)
        self._forwards: dict[tuple[str, ...], Forward] = {}  # by the names of layers

    def __call__(self, images: np.ndarray) -> Statistics:
        """Returns the statistics over images.

        Args:
            images: inputs of the model, `(n, height, width, channels)`.

        Raises:
            UsageError: there are no images, or they have another shape.
        """
        check_images(self._model, images)
        mean, median = {}, {}
        for layers in self._groups(len(images)):
            rows = self._rows(layers, images)
            for layer in layers:
                name = layer.name
                # Popped, so that memory is free before the next group.
                mean[name], median[name] = _mean_and_median(rows.pop(0))
        return Statistics(mean, median)

    def _groups(self, images: int) -> Iterator[list[keras.Layer]]:
        """Yields all layers in order, in groups whose values fit in memory."""
        group, held = [], 0
        for layer in self._layers:
            held += images * values(layer)
            if group and held > _HELD_VALUES:
                yield group
                group, held = [], images * values(layer)
            group.append(layer)
        yield group

    def _rows(
        self, layers: Sequence[keras.Layer], images: np.ndarray
    ) -> list[np.ndarray]:
        """Returns the activations of units, `(units, n * positions)` a layer."""
        names = tuple(layer.name for layer in layers)
        if names not in self._forwards:
            outputs = [layer.output for layer in layers]
            self._forwards[names] = forward(self._model, outputs)
        units = [layer.output.shape[-1] for layer in layers]
        rows = [
            np.empty((n, len(images), values(layer) // n), "float32")
            for n, layer in zip(units, layers, strict=True)
        ]
        for start, part in parts(images, _PART_VALUES // sum(map(values, layers))):
            for row, found in zip(rows, self._forwards[names](part), strict=True):
                found = found.reshape(len(part), -1, len(row))
                row[:, start : start + len(part)] = found.transpose(2, 0, 1)
        return [row.reshape(len(row), -1) for row in rows]


def activation_layers(model: keras.Model) -> list[keras.Layer]:
    """Returns the layers of a model that are named `act_...`, in its order.

    Raises:
        UsageError: the model has none.
    """
    found = [layer for layer in model.layers if layer.name.startswith("act_")]
    if not found:
        raise errors.UsageError(
            f"{model.name} has no activation layers, which are named act_... Its "
            f"layers: {', '.join(layer.name for layer in model.layers)}."
        )
    return found


def values(layer: keras.Layer) -> int:
    """Returns the number of a layer's outputs for an image."""
    return math.prod(layer.output.shape[1:])


def check_images(model: keras.Model, images: np.ndarray) -> None:
    """Checks that images fit a model, and that there is at least one.

    Raises:
        UsageError: they do not fit, or there is none.
    """
    shape = tuple(model.input_shape[1:])
    if np.shape(images)[1:] != shape or not len(images):
        raise errors.UsageError(
            f"{model.name} takes images of shape {shape}, one or more. Received: "
            f"an array of shape {np.shape(images)}."
        )


def parts(images: np.ndarray, most: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yields parts of at most `most` or 1,000 images, each after its first index."""
    size = max(1, min(_PART, most))
    for start in range(0, len(images), size):
        yield start, images[start : start + size]


def forward(model: keras.Model, tensors: Sequence[keras.KerasTensor]) -> Forward:
    """Returns a function from images to tensors of a model in inference.

    It uses the model's weights at the time of a call, and is traced once a shape at
    most.

    Args:
        model: of one input.
        tensors: outputs or inputs of its layers.

    Returns:
        A function from images to float32 arrays, in the order of the tensors.
    """
    call = inference(keras.Model(model.inputs[0], list(tensors)))

    def compute(images):
        # For one tensor Keras returns no list.
        found = keras.tree.flatten(call(np.asarray(images, "float32")))
        return [np.asarray(array, "float32") for array in found]

    return compute


def _mean_and_median(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean and the median of each row, NaN for a row with a NaN."""
    mean, median = rows.mean(axis=1), rows.min(axis=1)
    middle = rows.shape[1] // 2
    # Selection is slow among equal values, such as the zeros of a rectifier.
    tied = (rows == median[:, None]).sum(axis=1) > middle
    rest = ~(tied | np.isnan(median))
    rows = rows[rest]
    rows.partition(middle, axis=1)
    if rows.shape[1] % 2:
        median[rest] = rows[:, middle]
    else:  # to select both middle values would take twice the time
        median[rest] = (rows[:, :middle].max(axis=1) + rows[:, middle]) / 2
    return mean, median
