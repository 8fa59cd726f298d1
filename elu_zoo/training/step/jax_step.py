"""Device and step of a run on JAX, as `devices` and `resident` have them."""

import contextlib
import functools

import jax
import numpy as np

from elu_zoo import errors
from elu_zoo.data.dataset import Split
from elu_zoo.layers.dropout import keyed
from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.workers import cluster


class OneDevice:
    """The first device of JAX, which is the only device of a run."""

    num_replicas_in_sync = 1
    scope = staticmethod(contextlib.nullcontext)

    def __init__(self):
        self.device = jax.devices()[0]


def create_strategy(name: str, num_devices: int | None, _: int = 0) -> OneDevice:
    """Returns the first device of JAX."""
    tasks = cluster.tasks()
    if name not in ("auto", "one") or num_devices not in (None, 1) or tasks > 1:
        raise errors.UsageError(
            "KERAS_BACKEND=jax trains on one device of one machine. Received: strategy "
            f"{name!r}, num_devices {num_devices}, and a TF_CONFIG with {tasks} tasks. Remove "
            "--strategy, --num_devices and TF_CONFIG, or set KERAS_BACKEND=tensorflow."
        )
    return OneDevice()


def peers(strategy: OneDevice) -> cluster.OneMachine:
    """Returns an object for the only machine of a run."""
    return cluster.OneMachine()


class JaxStep:
    """A training step on images in the memory of the device; see `ResidentStep`."""

    def __init__(
        self, learner: Learner, data: Split, strategy: OneDevice, compilation: Compilation
    ):
        self._learner = learner
        self._compilation = compilation
        self._device = strategy.device
        self._data = jax.device_put((data.images, data.labels), strategy.device)
        model, optimizer = learner.model, learner.optimizer
        self._variables = (
            model.trainable_variables,
            model.non_trainable_variables,
            optimizer.variables,
        )
        self._state = None  # the variables' newer values, from `run` to `sync`
        slots = enumerate(optimizer.variables)
        self._rate = next(i for i, v in slots if v is optimizer.learning_rate)
        self.compile()

    def compile(self) -> None:
        """Creates the compiled function again, after a layer of the model changed."""
        # New function objects, because JAX caches compiled code by the object.
        iterate = functools.partial(self._iterate)
        self._call = jax.jit(iterate, donate_argnums=0)
        self._full_call = jax.jit(iterate, donate_argnums=0, static_argnums=3)

    def start(self, order: np.ndarray) -> None:
        """Does nothing, because all images are on the device."""

    def run(
        self,
        batches: np.ndarray,
        learning_rates: np.ndarray,
        first: int = 0,
        draws: np.ndarray | None = None,
    ) -> jax.Array:
        """Begins the iterations of `ResidentStep.run`, and does not wait for losses.

        Until `sync`, the variables of model and optimizer cannot be used.
        """
        count = len(batches)
        arrays = [batches, learning_rates, *([] if draws is None else [draws])]
        if self._state is None:
            state = [[v.value for v in group] for group in self._variables]
            # For values that are not committed to a device, such as new or restored
            # ones, JAX would compile the function a second time.
            self._state = jax.device_put(state, self._device)
        arguments = self._compilation.pad(*arrays)
        compilation = self._compilation
        is_full = compilation.static and count == compilation.steps_per_call
        call = self._full_call if is_full else self._call
        state = self._state
        self._state, losses = call(state, self._data, first, count, *arguments)
        return losses if count == len(losses) else losses[:count]

    def sync(self) -> None:
        """Updates the variables of the model and the optimizer after `run`."""
        if self._state is None:
            return
        for group, values in zip(self._variables, self._state, strict=True):
            for variable, value in zip(group, values, strict=True):
                variable.assign(value)
        self._state = None  # because others may assign to the variables

    def _iterate(self, state, data, first, count, batches, learning_rates, draws=None):
        """Runs `count` iterations. A count that is not static serves every count."""

        # By default, accelerators multiply with less precision than float32.
        @jax.default_matmul_precision("float32")
        def body(i, carry):
            state, losses = carry
            images, labels = (array[batches[i]] for array in data)
            images = images.astype("float32")
            if draws is not None:
                images = self._learner.augmentation(images, draws[i])
            with keyed(first + i, batches[i]):
                state, loss = self._update(state, images, labels, learning_rates[i])
            return state, losses.at[i].set(loss)

        losses = jax.numpy.zeros(len(batches))
        if len(batches) == 1:
            # In a loop, XLA does not use its fast kernels for convolutions.
            return body(0, (state, losses))
        return jax.lax.fori_loop(0, count, body, (state, losses))

    def _update(self, state, images, labels, learning_rate):
        weights, others, slots = state
        slots[self._rate] = learning_rate
        gradient = jax.value_and_grad(self._penalised_loss, has_aux=True)
        (_, (loss, others)), gradients = gradient(weights, others, images, labels)
        weights, slots = self._learner.optimizer.stateless_apply(slots, gradients, weights)
        return [list(weights), list(others), list(slots)], loss

    def _penalised_loss(self, weights, others, images, labels):
        outputs, others, penalties = self._learner.model.stateless_call(
            weights, others, images, training=True, return_losses=True
        )
        objective, size = self._learner.objective, self._learner.batch_size
        loss = objective(images, labels, outputs).sum() / size
        smoothing = objective.smoothing(labels, outputs)
        if smoothing is not None:
            penalties = [*penalties, smoothing.sum() / size]
        return loss + sum(penalties), (loss, others)
