"""The training step on TensorFlow for images that are read while it trains."""

from collections.abc import Callable, Iterator

import keras
import numpy as np
import tensorflow as tf

from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.sources import Split
from elu_zoo.training.compilation import Compilation
from elu_zoo.training.loss import Objective
from elu_zoo.training.step import Update
from elu_zoo.training.workers import cluster


class StreamStep:
    """Trains a model on encoded images, decoded ahead.

    Each machine of a cluster reads the part of every batch that its devices compute.

    Args:
        model: takes what the augmentation gives; of the strategy's scope.
        optimizer: a built Keras optimizer of the same scope.
        objective: the loss, and what is minimised with it.
        data: the training examples.
        batch_size: over all replicas.
        strategy: the strategy of model and optimizer.
        policy: what is compiled.
        augmentation: of images and draws, before the model.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        objective: Objective,
        data: EncodedSplit,
        batch_size: int,
        strategy: tf.distribute.Strategy,
        policy: Compilation,
        augmentation: Callable | None = None,
    ):
        self._data = data
        self._batch_size = batch_size
        self._strategy = strategy
        self._policy = policy
        self._augmented = augmentation is not None
        self._update = Update(
            model, optimizer, objective, batch_size, strategy, policy, augmentation
        )
        several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        machine, machines = cluster.place() if several else (0, 1)
        self._share = batch_size // machines
        self._first = machine * self._share
        self._read: Iterator[Split] = iter(())
        self.compile()

    def compile(self) -> None:
        """Makes the program; again where a layer of the model was changed."""
        size = self._batch_size
        single = self._strategy.num_replicas_in_sync == 1
        self._update.compile()
        self._call = tf.function(
            self._iterate,
            jit_compile=self._policy.compiled and single,
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
        """Begins to read the batches that `run` will be given next.

        Args:
            order: their indices, `(count, batch_size)`.
        """
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
            read = next(self._read)
            given = first + i, learning_rates[i], read.images, read.labels, batch
            loss = self._call(*given, *(() if draws is None else (draws[i],)))
            losses.append(loss.numpy())
        return np.array(losses)

    def _iterate(self, iteration, rate, images, labels, batch, draws=None):
        def fetch(start, indices):
            begin, size = start - self._first, indices.shape[0]
            shape = [size, *images.shape[1:]]
            return (
                tf.slice(images, [begin, 0, 0, 0], shape),
                tf.slice(labels, [begin], [size]),
            )

        return self._update(rate, iteration, batch, draws, fetch)
