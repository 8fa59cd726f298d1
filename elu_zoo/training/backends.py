"""Placement of a run on devices and machines, by the backend of Keras."""

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any

import keras

from elu_zoo import errors


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a run computes.

    Attributes:
        strategy: the strategy of tf.distribute, or JAX's one device.
        chief: whether this process writes the run's files.
        peers: the machines of the run, see `workers.peers.Peers`.
        choose_compilation: see `devices.choose_compilation`.
        step: the class of the training step, see `step_resident.ResidentStep`.
    """

    strategy: Any
    chief: bool
    peers: Any
    choose_compilation: Callable
    step: Callable

    @property
    def replicas(self) -> int:
        """The number of devices that share a batch."""
        return self.strategy.num_replicas_in_sync


def place(encoded: bool, strategy: str, num_devices: int | None) -> Placement:
    """Places a run, before any operation of the backend.

    Args:
        encoded: the images stay encoded on the disk.
        strategy: see `devices.create_strategy`, as is `num_devices`.
        num_devices: devices of this machine.

    Raises:
        UsageError: the backend or this machine cannot do it.
    """
    backend, step = _modules(encoded)
    created = backend.create_strategy(strategy, num_devices)
    return Placement(
        created,
        backend.is_chief(created),
        backend.peers(created),
        backend.choose_compilation,
        step,
    )


def _modules(encoded: bool) -> tuple[ModuleType, Callable]:
    """Returns the module that places a run, and the class of its step."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from elu_zoo.training import devices, step_resident, step_stream

        resident, stream = step_resident.ResidentStep, step_stream.StreamStep
        return devices, stream if encoded else resident
    if backend == "jax" and encoded:
        raise errors.UsageError(
            "KERAS_BACKEND=jax trains on data sets in memory. Use "
            "KERAS_BACKEND=tensorflow for images that stay on the disk."
        )
    if backend == "jax":
        from elu_zoo.training import step_jax

        return step_jax, step_jax.JaxStep
    raise errors.UsageError(
        f"Training needs KERAS_BACKEND=tensorflow or jax. Received: {backend}."
    )
