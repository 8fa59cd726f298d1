"""Which code trains: Keras' backend decides."""

from collections.abc import Callable
from types import ModuleType

import keras

from elu_zoo import errors


def choose(encoded: bool) -> tuple[ModuleType, Callable]:
    """Returns the functions that place a run, and the class of its step.

    Args:
        encoded: the images are read and decoded while it trains.

    Raises:
        UsageError: the backend cannot do it.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from elu_zoo.training import devices, step_resident, step_stream

        step = step_stream.StreamStep if encoded else step_resident.ResidentStep
        return devices, step
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
