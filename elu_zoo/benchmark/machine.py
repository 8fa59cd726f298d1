"""Description of the machine that runs a benchmark: hardware and versions."""

import datetime
import importlib.metadata
import os
import platform
import re
from pathlib import Path

_PACKAGES = (
    *("tensorflow", "keras", "numpy", "jax", "torch"),
    *("ai-edge-litert", "onnxruntime", "grpcio", "aiohttp"),
)


def describe() -> dict[str, str]:
    """Returns hardware and versions by name, without the names of machine and user."""
    facts = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": str(cores()),
        "memory": f"{_memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    accelerator = _accelerator()
    return {**facts, "accelerator": accelerator} if accelerator else facts


def line() -> str:
    """Returns `describe()` in one line."""
    return "; ".join(f"{name} {value}" for name, value in describe().items())


def cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    match = path.exists() and re.search(r"model name\s*: (.+)", path.read_text())
    return match[1] if match else platform.processor() or platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _accelerator() -> str:
    import keras

    if keras.backend.backend() == "jax":
        import jax

        device = jax.devices()[0]
        return "" if device.platform == "cpu" else device.device_kind
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    return ", ".join(str(d.get("device_name", "GPU")) for d in details)
