"""The training step on TensorFlow: several iterations in one call.

The images stay on the device as variables. A call runs `count` iterations of the
batches it is given; the program is the same whatever the count, so that a run does
not depend on where it was cut into calls.
"""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import activations
from elu_zoo.data.sources import Split
from elu_zoo.training.policy import Policy


class TFStep:
    """Trains a model on resident data.

    Args:
        model: takes raw images; of the strategy's scope.
        optimizer: a built Keras optimizer of the same scope.
        loss: `(images, labels, outputs) -> (batch,)`.
        data: the training images and labels.
        batch_size: over all replicas.
        strategy: the strategy of model and optimizer.
        policy: what is compiled, and how many iterations a call runs.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        loss: Callable,
        data: Split,
        batch_size: int,
        strategy: tf.distribute.Strategy,
        policy: Policy,
    ):
        self._model = model
        self._optimizer = optimizer
        self._loss = loss
        self._batch_size = batch_size
        self._strategy = strategy
        self._policy = policy
        self._replicas = strategy.num_replicas_in_sync
        self._images = tf.Variable(data.images, trainable=False)
        self._labels = tf.Variable(data.labels, trainable=False)
        steps = policy.steps_per_call
        one_program = policy.compiled and self._replicas == 1
        self._call = tf.function(
            self._iterate,
            jit_compile=one_program,
            input_signature=[
                tf.TensorSpec([steps, batch_size], tf.int32),
                tf.TensorSpec([steps], tf.float32),
                tf.TensorSpec([], tf.int32),
            ],
        )
        self._pure_gradients = tf.function(self._gradients, jit_compile=policy.compiled)

    def run(self, batches: np.ndarray, learning_rates: np.ndarray) -> np.ndarray:
        """Runs one iteration for each row of `batches`.

        Args:
            batches: indices of training images, `(count, batch_size)`, with count
                at most `policy.steps_per_call`.
            learning_rates: of each iteration, `(count,)`.

        Returns:
            The mean loss of each iteration before its update, `(count,)`.
        """
        count = len(batches)
        losses = self._call(*self._policy.padded(batches, learning_rates), count)
        return losses.numpy()[:count]

    def _iterate(self, batches, learning_rates, count):
        losses = tf.TensorArray(tf.float32, size=batches.shape[0])
        for i in tf.range(count):
            self._optimizer.learning_rate.assign(learning_rates[i])
            if self._replicas == 1:
                loss = self._update(batches[i])
            else:
                shares = self._strategy.run(self._update, (batches[i],))
                loss = self._strategy.reduce("SUM", shares, axis=None)
            losses = losses.write(i, loss)
        return losses.stack()

    def _update(self, batch):
        """One replica's part of an iteration; returns its share of the mean loss."""
        if self._replicas > 1:
            share = self._batch_size // self._replicas
            context = tf.distribute.get_replica_context()
            start = context.replica_id_in_sync_group * share
            batch = tf.slice(batch, [start], [share])
        images = tf.cast(tf.gather(self._images, batch), tf.float32)
        labels = tf.gather(self._labels, batch)
        weights = self._model.trainable_variables
        if self._replicas > 1 and self._policy.compiled:
            values = [tf.convert_to_tensor(w) for w in weights]
            loss, gradients = self._pure_gradients(values, images, labels)
        else:
            with activations.form(self._form()), tf.GradientTape() as tape:
                outputs = self._model(images, training=True)
                loss = self._mean_loss(images, labels, outputs)
            gradients = tape.gradient(loss, [w.value for w in weights])
        # Under several replicas Keras sums the gradients over them here.
        self._optimizer.apply(gradients, weights)
        return loss

    def _gradients(self, weights, images, labels):
        with activations.form(self._form()), tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, _ = self._model.stateless_call(weights, [], images, training=True)
            loss = self._mean_loss(images, labels, outputs)
        return loss, tape.gradient(loss, weights)

    def _mean_loss(self, images, labels, outputs):
        return tf.reduce_sum(self._loss(images, labels, outputs)) / self._batch_size

    def _form(self) -> str:
        return "polynomial" if self._policy.compiled else "nested"


def forward(model: keras.Model, shape: tuple[int, ...]) -> Callable:
    """Returns a function from images `(batch, *shape)` to the model's outputs.

    Never XLA, and one program for every strategy, so that an evaluation after
    training repeats the one within it to the last bit.
    """

    @tf.function(input_signature=[tf.TensorSpec([None, *shape], tf.float32)])
    def call(images):
        return model(images, training=False)

    return call
