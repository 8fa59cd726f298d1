"""Updates of a model on TensorFlow, on all replicas of a strategy."""

import contextlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from elu_zoo import activations
from elu_zoo.layers.dropout import keyed
from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation


class Update:
    """Updates a model by batches that are split over the replicas of a strategy."""

    def __init__(
        self, learner: Learner, strategy: tf.distribute.Strategy, compilation: Compilation
    ):
        self._learner = learner
        self._model = learner.model
        self._strategy = strategy
        self._replicas = strategy.num_replicas_in_sync
        self._compilation = compilation
        self.compile()

    def compile(self) -> None:
        """Creates the gradient function again, after a layer of the model changed."""
        self._pure_gradients = tf.function(self._gradients, jit_compile=self._compilation.compiled)

    def __call__(self, rate, iteration, batch, draws, fetch: Callable) -> tf.Tensor:
        """Updates the model and returns the mean loss before the update.

        `fetch(start, indices)` returns images and labels of a part of `batch` from row `start`.
        """
        self._learner.optimizer.learning_rate.assign(rate)
        arguments = iteration, batch, draws, fetch
        if self._replicas == 1:
            return self._on_replica(*arguments)
        shares = self._strategy.run(self._on_replica, arguments)
        return self._strategy.reduce("SUM", shares, axis=None)

    def _on_replica(self, iteration, batch, draws, fetch):
        """Updates the model; returns the replica's summand of the mean loss."""
        count = self._learner.batch_size // self._replicas
        start = 0
        if self._replicas > 1:
            context = tf.distribute.get_replica_context()
            start = context.replica_id_in_sync_group * count
        weights = self._model.trainable_variables
        if self._compilation.accumulate == 1:
            loss, gradients = self._part(iteration, batch, draws, fetch, start, count)
        else:
            size = count // self._compilation.accumulate
            loss, gradients = 0.0, [tf.zeros(w.shape, w.dtype) for w in weights]
            for i in tf.range(self._compilation.accumulate):
                # Parallel iterations would need the memory of several parts.
                tf.autograph.experimental.set_loop_options(parallel_iterations=1)
                first = start + i * size
                more, added = self._part(iteration, batch, draws, fetch, first, size)
                loss += more
                gradients = [a + b for a, b in zip(gradients, added, strict=True)]
        # With several replicas, Keras sums the gradients over the replicas here.
        self._learner.optimizer.apply(gradients, weights)
        return loss

    def _part(self, iteration, batch, draws, fetch, start, size):
        """Returns the summand of a part in the mean loss, and the part's gradients."""
        batch = _cut(batch, start, size)
        images, labels = fetch(start, batch)
        images = tf.cast(images, tf.float32)
        if draws is not None:
            images = self._learner.augmentation(images, _cut(draws, start, size))
        weights = self._model.trainable_variables
        arguments = iteration, batch, images, labels
        if self._replicas > 1 and self._compilation.compiled:
            others = self._model.non_trainable_variables
            values = [[tf.convert_to_tensor(v) for v in g] for g in (weights, others)]
            return self._pure_gradients(*values, *arguments)
        with self._context(iteration, batch), tf.GradientTape() as tape:
            outputs = self._model(images, training=True)
            loss, minimised = self._losses(images, labels, outputs, self._model.losses)
        return loss, tape.gradient(minimised, [w.value for w in weights])

    def _gradients(self, weights, others, iteration, batch, images, labels):
        with self._context(iteration, batch), tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, _, penalties = self._model.stateless_call(
                weights, others, images, training=True, return_losses=True
            )
            loss, minimised = self._losses(images, labels, outputs, penalties)
        return loss, tape.gradient(minimised, weights)

    def _losses(self, images, labels, outputs, penalties):
        """Returns a part's summands of the mean loss and of the minimised loss."""
        objective = self._learner.objective
        loss = self._summand(objective(images, labels, outputs))
        smoothing = objective.smoothing(labels, outputs)
        minimised = loss if smoothing is None else loss + self._summand(smoothing)
        # Each part of each replica adds an equal fraction of the penalties.
        parts = self._replicas * self._compilation.accumulate
        return loss, minimised + sum(penalties) / parts if penalties else minimised

    @contextlib.contextmanager
    def _context(self, iteration, batch):
        """Selects the ELU implementation and dropout masks for a replica's thread."""
        form = "polynomial" if self._compilation.compiled else "plain"
        with activations.form(form), keyed(iteration, batch):
            yield

    def _summand(self, losses):
        return tf.reduce_sum(losses) / self._learner.batch_size


def _cut(values: tf.Tensor, start: Any, size: int) -> tf.Tensor:
    """Returns `size` rows from `start`, with a static shape."""
    begin = [start] + [0] * (len(values.shape) - 1)
    return tf.slice(values, begin, [size, *(-1 if n is None else n for n in values.shape[1:])])
