"""The training step on TensorFlow: several iterations in one call.

The images stay on the device as variables. A call runs `count` iterations of the
batches it is given; the program is the same whatever the count, so that a run does
not depend on where it was cut into calls.
"""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from elu_zoo.data.sources import Split
from elu_zoo.training.compilation import Compilation
from elu_zoo.training.loss import Objective
from elu_zoo.training.step import Update


class ResidentStep:
    """Trains a model on resident data.

    Args:
        model: takes raw images; of the strategy's scope.
        optimizer: a built Keras optimizer of the same scope.
        objective: the loss, and what is minimised with it.
        data: the training images and labels.
        batch_size: over all replicas.
        strategy: the strategy of model and optimizer.
        policy: what is compiled, and how many iterations a call runs.
        augmentation: a layer of images and draws, before the model.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        objective: Objective,
        data: Split,
        batch_size: int,
        strategy: tf.distribute.Strategy,
        policy: Compilation,
        augmentation: keras.layers.Layer | None = None,
    ):
        self._batch_size = batch_size
        self._strategy = strategy
        self._policy = policy
        self._augmented = augmentation is not None
        self._update = Update(
            model, optimizer, objective, batch_size, strategy, policy, augmentation
        )
        self._images = tf.Variable(data.images, trainable=False)
        self._labels = tf.Variable(data.labels, trainable=False)
        self.compile()

    def compile(self) -> None:
        """Makes the program; again where a layer of the model was changed."""
        steps, size = self._policy.steps_per_call, self._batch_size
        draws = [tf.TensorSpec([steps, size, None], tf.int32)]
        single = self._strategy.num_replicas_in_sync == 1
        self._update.compile()
        self._call = tf.function(
            self._iterate,
            jit_compile=self._policy.compiled and single,
            input_signature=[
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([steps, size], tf.int32),
                tf.TensorSpec([steps], tf.float32),
                *(draws if self._augmented else ()),
            ],
        )

    def start(self, order: np.ndarray) -> None:
        """Does nothing: all images are on the device."""

    def run(
        self,
        batches: np.ndarray,
        learning_rates: np.ndarray,
        first: int = 0,
        draws: np.ndarray | None = None,
    ) -> np.ndarray:
        """Runs one iteration for each row of `batches`.

        Args:
            batches: indices of training images, `(count, batch_size)`, with count
                at most `policy.steps_per_call`.
            learning_rates: of each iteration, `(count,)`.
            first: number of the first iteration in the run, which keys dropout.
            draws: what the augmentation draws for each image,
                `(count, batch_size, n)`; None without one.

        Returns:
            The mean loss of each iteration before its update, `(count,)`, without
            penalties on weights.
        """
        count = len(batches)
        given = [batches, learning_rates, *([] if draws is None else [draws])]
        losses = self._call(first, count, *self._policy.padded(*given))
        return losses.numpy()[:count]

    def _iterate(self, first, count, batches, learning_rates, draws=None):
        if batches.shape[0] == 1:
            # XLA keeps convolutions in a loop from its fast kernels.
            drawn = None if draws is None else draws[0]
            arguments = learning_rates[0], first, batches[0], drawn
            return self._update(*arguments, self._fetch)[None]
        losses = tf.TensorArray(tf.float32, size=batches.shape[0])
        for i in tf.range(count):
            drawn = None if draws is None else draws[i]
            arguments = learning_rates[i], first + i, batches[i], drawn
            losses = losses.write(i, self._update(*arguments, self._fetch))
        return losses.stack()

    def _fetch(self, start, indices):
        return tf.gather(self._images, indices), tf.gather(self._labels, indices)


def forward(model: keras.Model, shape: tuple[int, ...]) -> Callable:
    """Returns a function from images `(batch, *shape)` to the model's outputs.

    Never XLA, and one program for every strategy, so that an evaluation after
    training repeats the one within it to the last bit.
    """

    @tf.function(input_signature=[tf.TensorSpec([None, *shape], tf.float32)])
    def call(images):
        return model(images, training=False)

    return call
