"""The training step on TensorFlow: several iterations in one call.

The images stay on the device as variables. A call runs `count` iterations of the
batches it is given; the program is the same whatever the count, so that a run does
not depend on where it was cut into calls.
"""

import contextlib
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from elu_zoo import activations, layers
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
        augmentation: a layer of images and draws, before the model.
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
        augmentation: keras.layers.Layer | None = None,
    ):
        self._model = model
        self._optimizer = optimizer
        self._loss = loss
        self._batch_size = batch_size
        self._strategy = strategy
        self._policy = policy
        self._augmentation = augmentation
        self._replicas = strategy.num_replicas_in_sync
        self._images = tf.Variable(data.images, trainable=False)
        self._labels = tf.Variable(data.labels, trainable=False)
        self.compile()

    def compile(self) -> None:
        """Makes the program; again where a layer of the model was changed."""
        steps, size = self._policy.steps_per_call, self._batch_size
        draws = [tf.TensorSpec([steps, size, 3], tf.int32)]
        self._call = tf.function(
            self._iterate,
            jit_compile=self._policy.compiled and self._replicas == 1,
            input_signature=[
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([], tf.int32),
                tf.TensorSpec([steps, size], tf.int32),
                tf.TensorSpec([steps], tf.float32),
                *(draws if self._augmentation else ()),
            ],
        )
        self._pure_gradients = tf.function(
            self._gradients, jit_compile=self._policy.compiled
        )

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
                `(count, batch_size, 3)`; None without one.

        Returns:
            The mean loss of each iteration before its update, `(count,)`, without
            penalties on weights.
        """
        count = len(batches)
        given = [batches, learning_rates, *([] if draws is None else [draws])]
        losses = self._call(first, count, *self._policy.padded(*given))
        return losses.numpy()[:count]

    def _iterate(self, first, count, batches, learning_rates, draws=None):
        losses = tf.TensorArray(tf.float32, size=batches.shape[0])
        for i in tf.range(count):
            self._optimizer.learning_rate.assign(learning_rates[i])
            arguments = [first + i, batches[i]]
            if draws is not None:
                arguments.append(draws[i])
            if self._replicas == 1:
                loss = self._update(*arguments)
            else:
                shares = self._strategy.run(self._update, arguments)
                loss = self._strategy.reduce("SUM", shares, axis=None)
            losses = losses.write(i, loss)
        return losses.stack()

    def _update(self, iteration, batch, draws=None):
        """One replica's part of an iteration; returns its share of the mean loss."""
        if self._replicas > 1:
            share = self._batch_size // self._replicas
            context = tf.distribute.get_replica_context()
            start = context.replica_id_in_sync_group * share
            batch = batch[start : start + share]
            draws = draws if draws is None else draws[start : start + share]
        images = tf.cast(tf.gather(self._images, batch), tf.float32)
        if draws is not None:
            images = self._augmentation(images, draws)
        labels = tf.gather(self._labels, batch)
        weights = self._model.trainable_variables
        given = iteration, batch, images, labels
        if self._replicas > 1 and self._policy.compiled:
            others = self._model.non_trainable_variables
            values = [[tf.convert_to_tensor(v) for v in g] for g in (weights, others)]
            loss, gradients = self._pure_gradients(*values, *given)
        else:
            with self._context(iteration, batch), tf.GradientTape() as tape:
                outputs = self._model(images, training=True)
                loss = self._mean_loss(images, labels, outputs)
                minimised = self._penalised(loss, self._model.losses)
            gradients = tape.gradient(minimised, [w.value for w in weights])
        # Under several replicas Keras sums the gradients over them here.
        self._optimizer.apply(gradients, weights)
        return loss

    def _gradients(self, weights, others, iteration, batch, images, labels):
        with self._context(iteration, batch), tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, _, penalties = self._model.stateless_call(
                weights, others, images, training=True, return_losses=True
            )
            loss = self._mean_loss(images, labels, outputs)
            minimised = self._penalised(loss, penalties)
        return loss, tape.gradient(minimised, weights)

    def _penalised(self, loss, penalties):
        return loss + sum(penalties) / self._replicas if penalties else loss

    @contextlib.contextmanager
    def _context(self, iteration, batch):
        """What layers know of the step; replicas are threads, so it is theirs."""
        with activations.form(self._form()), layers.keyed(iteration, batch):
            yield

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
