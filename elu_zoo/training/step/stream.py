"""The training step on TensorFlow for images that stay encoded on the disk."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from elu_zoo.data.dataset import Split
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.update import Update
from elu_zoo.training.workers import cluster


class StreamStep:
    """A training step on encoded images, which other threads decode in advance.

    Each machine of a cluster reads only the examples of a batch that its devices need.
    """

    def __init__(
        self,
        learner: Learner,
        data: EncodedSplit,
        strategy: tf.distribute.Strategy,
        compilation: Compilation,
    ):
        self._data = data
        self._batch_size = learner.batch_size
        self._strategy = strategy
        self._compilation = compilation
        self._augmented = learner.augmentation is not None
        self._update = Update(learner, strategy, compilation)
        several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        machine, machines = cluster.machine_index() if several else (0, 1)
        self._share = self._batch_size // machines  # examples of a batch per machine
        self._first = machine * self._share  # first row of this machine in a batch
        self._read: Iterator[Split] = iter(())
        self.compile()

    def compile(self) -> None:
        """Creates the compiled function again, after a layer of the model changed."""
        size = self._batch_size
        single = self._strategy.num_replicas_in_sync == 1
        self._update.compile()
        self._call = tf.function(
            self._iterate,
            jit_compile=self._compilation.compiled and single,
            input_signature=[
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([], tf.float32),
                tf.TensorSpec([self._share, *self._data.image_shape], tf.uint8),
                tf.TensorSpec([self._share], tf.int32),
                tf.TensorSpec([size], tf.int32),
                *([tf.TensorSpec([size, None], tf.int32)] if self._augmented else ()),
            ],
        )

    def start(self, order: np.ndarray) -> None:
        """Begins to decode the examples of `order`, indices `(count, batch_size)`."""
        own = order[:, self._first : self._first + self._share]
        self._read = self._data.batches(own.ravel(), self._share)

    def run(
        self,
        batches: np.ndarray,
        learning_rates: np.ndarray,
        first: int = 0,
        draws: np.ndarray | None = None,
    ) -> np.ndarray:
        """Runs one iteration for each row of `batches`; see `ResidentStep.run`."""
        losses = []
        for i, batch in enumerate(batches):
            part = next(self._read)
            arguments = first + i, learning_rates[i], part.images, part.labels, batch
            loss = self._call(*arguments, *(() if draws is None else (draws[i],)))
            losses.append(loss.numpy())
        return np.array(losses)

    def sync(self) -> None:
        """Does nothing, because `run` updates the variables."""

    def _iterate(self, iteration, rate, images, labels, batch, draws=None):
        def fetch(start, indices):
            begin, size = start - self._first, indices.shape[0]
            shape = [size, *images.shape[1:]]
            return (tf.slice(images, [begin, 0, 0, 0], shape), tf.slice(labels, [begin], [size]))

        return self._update(rate, iteration, batch, draws, fetch)
