"""Devices of a run on TensorFlow, and the compilation of its steps."""

from pathlib import Path

import tensorflow as tf
from absl import logging

from elu_zoo import errors
from elu_zoo.training.workers import cluster
from elu_zoo.training.workers.peers import Peers


def create_strategy(name: str, num_devices: int | None, batch: int = 0) -> tf.distribute.Strategy:
    """Creates the strategy of a run, before any TensorFlow operation.

    `auto` chooses `multi_worker` if TF_CONFIG has several tasks, `mirrored` for several devices (by
    default as many GPUs as divide the batch, or one CPU), and otherwise `one`.
    """
    gpus = tf.config.get_visible_devices("GPU")
    if not gpus and Path("/proc/driver/nvidia/version").exists():
        logging.warning(
            "This machine has an NVIDIA driver, but TensorFlow sees no GPU and will "
            'use the CPU. Run: pip install "elu-zoo[gpu]"'
        )
    tasks = cluster.tasks()
    if name == "auto":
        dividing = [n for n in range(1, len(gpus) + 1) if batch % n == 0]
        count = num_devices or max(dividing, default=1)
        name = "multi_worker" if tasks > 1 else "mirrored" if count > 1 else "one"
        num_devices = count if name == "mirrored" else num_devices
    if name == "one":
        if num_devices not in (None, 1):
            raise errors.UsageError(
                "Strategy one uses one device, but num_devices is "
                f"{num_devices}. Set --strategy=mirrored."
            )
        strategy = tf.distribute.get_strategy()
    elif name == "multi_worker":
        if num_devices is not None:
            raise errors.UsageError(
                "Strategy multi_worker uses all devices of each machine. Received: num_devices="
                f"{num_devices}. Remove it, and set CUDA_VISIBLE_DEVICES to use fewer."
            )
        if not tasks:
            raise errors.UsageError(
                "Strategy multi_worker needs the environment variable TF_CONFIG. Set TF_CONFIG to "
                "the addresses of all machines and the task of this machine."
            )
        with cluster.limited_wait():
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
    else:
        strategy = _mirrored(gpus, num_devices)
    replicas, devices = strategy.num_replicas_in_sync, tf.config.list_logical_devices()
    if replicas > 1 or len(devices) > 1:
        names = ", ".join(device.name for device in devices)
        logging.info("Strategy %s with %d replica(s); devices: %s.", name, replicas, names)
    return strategy


def peers(strategy: tf.distribute.Strategy) -> cluster.OneMachine | Peers:
    """Returns the object by which the machines of a run communicate."""
    several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return Peers(strategy) if several and cluster.tasks() > 1 else cluster.OneMachine()


def _mirrored(gpus: list, num_devices: int | None) -> tf.distribute.Strategy:
    if gpus:
        platform, count = "GPU", num_devices or len(gpus)
        if count > len(gpus):
            raise errors.UsageError(
                f"num_devices is {count}, but TensorFlow sees only {len(gpus)} GPU(s). "
                f"Set --num_devices={len(gpus)}."
            )
    else:
        platform, count = "CPU", num_devices or 1
        _create_logical_cpus(count)
    # On CPUs, Keras' fit took 1.4 times as long with TensorFlow's default.
    operation = None if gpus else tf.distribute.ReductionToOneDevice()
    names = [f"{platform}:{i}" for i in range(count)]
    return tf.distribute.MirroredStrategy(names, cross_device_ops=operation)


def _create_logical_cpus(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        # TensorFlow has already started, as in a notebook, with a fixed number of devices.
        available = len(tf.config.list_logical_devices("CPU"))
        if available < count:
            raise errors.UsageError(
                f"num_devices is {count}, but TensorFlow has already started with "
                f"{available} logical CPU device(s). Start training before any other "
                "TensorFlow operation of the process."
            ) from None
