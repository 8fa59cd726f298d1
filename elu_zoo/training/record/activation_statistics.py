"""Mean and median activation of each hidden unit over many images.

Figure 2a of the paper shows means, and figure 7 shows medians, over the epochs.
"""

import dataclasses
import io
import math
from pathlib import Path

import keras
import numpy as np

from elu_zoo import errors, files
from elu_zoo.evaluation.evaluator import inference

_PART = 1000  # largest number of images in a forward pass
_PART_VALUES = 2**24  # largest number of output values in a forward pass


@dataclasses.dataclass(frozen=True, eq=False)
class UnitStatistics:
    """Mean and median of each unit of a network's activation layers.

    A unit of a convolution is a channel, with the values of all positions.
    """

    mean: dict[str, np.ndarray]  # by layer, in the order of the network, float32 `(units,)`
    median: dict[str, np.ndarray]

    def save(self, path: Path) -> None:
        """Writes an .npz file with arrays `mean/<layer>` and `median/<layer>`."""
        arrays: dict = {f"mean/{name}": array for name, array in self.mean.items()}
        arrays |= {f"median/{name}": array for name, array in self.median.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        files.write_bytes(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> "UnitStatistics":
        """Reads a file that `save` wrote."""
        loaded = cls({}, {})
        with np.load(io.BytesIO(files.read(path))) as arrays:
            for key in arrays.files:
                statistic, _, name = key.partition("/")
                getattr(loaded, statistic)[name] = arrays[key]
        return loaded


class StatisticsOfModel:
    """Computes the `UnitStatistics` of a model with its current weights, traced once.

    Means and medians are exact, because all values of a layer are held in memory, which
    needs 4 bytes per image, position and channel.
    """

    def __init__(self, model: keras.Model):
        layers = [layer for layer in model.layers if layer.name.startswith("act_")]
        if not layers:
            raise errors.UsageError(
                f"{model.name} needs layers whose names begin with act_. Received the layers "
                f"{', '.join(layer.name for layer in model.layers)}. Rename the activation layers."
            )
        self._outputs = {layer.name: layer.output for layer in layers}
        self._forwards = {
            name: inference(keras.Model(model.inputs[0], output))
            for name, output in self._outputs.items()
        }

    def __call__(self, images: np.ndarray) -> UnitStatistics:
        """Returns the statistics over images `(n, height, width, channels)`."""
        statistics = UnitStatistics({}, {})
        for name in self._outputs:
            rows = self._values(name, images)
            statistics.mean[name] = rows.mean(axis=1)
            statistics.median[name] = np.median(rows, axis=1, overwrite_input=True)
        return statistics

    def _values(self, name: str, images: np.ndarray) -> np.ndarray:
        """Returns all values of each unit of a layer, `(units, values)`."""
        *_, units = shape = self._outputs[name].shape[1:]
        size = max(1, min(_PART, _PART_VALUES // math.prod(shape)))
        rows = np.empty((units, len(images), math.prod(shape) // units), "float32")
        for start in range(0, len(images), size):
            part = np.asarray(images[start : start + size], "float32")
            outputs = np.asarray(self._forwards[name](part), "float32")
            outputs = outputs.reshape(len(part), -1, units)
            rows[:, start : start + len(part)] = outputs.transpose(2, 0, 1)
        return rows.reshape(units, -1)
