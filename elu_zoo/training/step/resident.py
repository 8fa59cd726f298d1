"""The training step on TensorFlow for images in the memory of the device.

The compiled function has the same input shapes for every number of iterations, so that
results do not depend on how a run is divided into calls.
"""

import numpy as np
import tensorflow as tf

from elu_zoo.data.dataset import Split
from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.update import Update


class ResidentStep:
    """A training step whose images are variables on the device."""

    def __init__(
        self,
        learner: Learner,
        data: Split,
        strategy: tf.distribute.Strategy,
        compilation: Compilation,
    ):
        self._batch_size = learner.batch_size
        self._strategy = strategy
        self._compilation = compilation
        self._augmented = learner.augmentation is not None
        self._update = Update(learner, strategy, compilation)
        self._images = tf.Variable(data.images, trainable=False)
        # TensorFlow keeps int32 variables in the memory of the host, where a program compiled
        # by XLA for a GPU cannot read them.
        self._labels = tf.Variable(data.labels.astype("int64"), trainable=False)
        self.compile()

    def compile(self) -> None:
        """Creates the compiled function again, after a layer of the model changed."""
        steps, size = self._compilation.steps_per_call, self._batch_size
        draws = [tf.TensorSpec([steps, size, None], tf.int32)]
        single = self._strategy.num_replicas_in_sync == 1
        self._update.compile()
        self._call = tf.function(
            self._iterate,
            jit_compile=self._compilation.compiled and single,
            input_signature=[
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([steps, size], tf.int32),
                tf.TensorSpec([steps], tf.float32),
                *(draws if self._augmented else ()),
            ],
        )

    def start(self, order: np.ndarray) -> None:
        """Does nothing, because all images are on the device."""

    def run(
        self,
        batches: np.ndarray,
        learning_rates: np.ndarray,
        first: int = 0,
        draws: np.ndarray | None = None,
    ) -> np.ndarray:
        """Returns the mean loss of each iteration before its update, without penalties.

        Each row of `batches`, indices of training images `(count, batch_size)`, is an iteration;
        `first` is the first one's number in the run, `count` at most `compilation.steps_per_call`.
        """
        count = len(batches)
        arrays = [batches, learning_rates, *([] if draws is None else [draws])]
        losses = self._call(first, count, *self._compilation.pad(*arrays))
        return losses.numpy()[:count]

    def sync(self) -> None:
        """Does nothing, because `run` updates the variables."""

    def _iterate(self, first, count, batches, learning_rates, draws=None):
        if batches.shape[0] == 1:
            # In a loop, XLA does not use its fast kernels for convolutions.
            drawn = None if draws is None else draws[0]
            arguments = learning_rates[0], first, batches[0], drawn
            return self._update(*arguments, self._fetch)[None]
        losses = tf.TensorArray(tf.float32, size=batches.shape[0])
        i = tf.constant(0)
        while i < count:  # with tf.range, a new count would be compiled again
            drawn = None if draws is None else draws[i]
            arguments = learning_rates[i], first + i, batches[i], drawn
            losses = losses.write(i, self._update(*arguments, self._fetch))
            i += 1
        return losses.stack()

    def _fetch(self, start, indices):
        return tf.gather(self._images, indices), tf.gather(self._labels, indices)
