"""Devices and machines of a run on the Keras backend in use."""

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any

import keras

from elu_zoo import errors
from elu_zoo.training.step import compilation

STRATEGIES = ("auto", "one", "mirrored", "multi_worker")


@dataclasses.dataclass(frozen=True)
class Placement:
    """Devices and machines of a run, with the backend's functions for both."""

    strategy: Any  # a tf.distribute.Strategy, or a jax_step.OneDevice
    peers: Any  # the machines of the run, such as `workers.peers.Peers`
    step: Callable  # the class of the training step
    pooling: ModuleType | None  # see `pool_before_activation`
    choose_compilation: Callable = compilation.choose

    @property
    def chief(self) -> bool:
        """Whether this process writes the run's files."""
        return self.peers.index == 0

    @property
    def replicas(self) -> int:
        """Number of devices that share a batch."""
        return self.strategy.num_replicas_in_sync

    def describe(self) -> dict[str, str | int]:
        """Returns the `strategy`, as the flag names it, and the count of `replicas`."""
        on_one_machine = "mirrored" if self.replicas > 1 else "one"
        strategy = on_one_machine if self.peers.count == 1 else "multi_worker"
        return {"strategy": strategy, "replicas": self.replicas}


def choose_devices(encoded: bool, strategy: str, count: int | None, batch: int = 0) -> Placement:
    """Chooses the devices of a run, before any operation of the backend."""
    errors.check_choice("strategy", strategy, STRATEGIES)
    if count is not None:
        errors.check_integer("num_devices", count, minimum=1)
    backend, pooling = keras.backend.backend(), None
    if backend == "tensorflow":
        from elu_zoo.training.step import devices
        from elu_zoo.training.step.resident import ResidentStep
        from elu_zoo.training.step.stream import StreamStep

        step = StreamStep if encoded else ResidentStep
    elif backend == "jax" and encoded:
        raise errors.UsageError(
            "KERAS_BACKEND=jax trains only on data sets that fit in memory. Set "
            "KERAS_BACKEND=tensorflow for images that stay on the disk."
        )
    elif backend == "jax":
        from elu_zoo.training.step import jax_pooling as pooling
        from elu_zoo.training.step import jax_step as devices

        step = devices.JaxStep
    else:
        raise errors.UsageError(
            f"Training needs KERAS_BACKEND=tensorflow or jax. Received: {backend}."
        )
    created = devices.create_strategy(strategy, count, batch)
    return Placement(created, devices.peers(created), step, pooling)
