"""Names of the processor and of the accelerators of this machine."""

import os
import platform
import re
from pathlib import Path

import keras


def describe() -> str:
    """Returns processor, number of cores and accelerators in one line."""
    return ", ".join([processor(), f"{os.cpu_count()} cores", *accelerators()])


def processor() -> str:
    """Returns the name of the processor."""
    path = Path("/proc/cpuinfo")
    match = path.exists() and re.search(r"model name\s*: (.+)", path.read_text())
    return match[1].strip() if match else platform.processor() or platform.machine()


def has_bfloat16() -> bool:
    """Returns whether the processor has instructions for bfloat16, or is not the device."""
    path = Path("/proc/cpuinfo")
    flags = path.read_text() if path.exists() else "bf16"  # unknown
    return "bf16" in flags or bool(accelerators())


def accelerators() -> list[str]:
    """Returns the names of the accelerators on which a run can train."""
    if keras.backend.backend() == "jax":
        import jax

        device = jax.devices()[0]  # `jax_step` uses no other device
        return [] if device.platform == "cpu" else [device.device_kind]
    import tensorflow as tf

    gpus = tf.config.get_visible_devices("GPU")
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    return [str(each.get("device_name", "GPU")) for each in details]
