"""Description of the machine that runs a benchmark: hardware and versions."""

import datetime
import importlib.metadata
import os
import platform

import keras

from elu_zoo.training import hardware

_PACKAGES = (
    *("tensorflow", "keras", "numpy", "jax", "torch"),
    *("ai-edge-litert", "onnxruntime", "grpcio", "aiohttp"),
)


def describe() -> dict[str, str]:
    """Returns hardware and versions by name, without the names of machine and user."""
    facts = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": hardware.processor(),
        "cores": str(cores()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "backend": keras.backend.backend(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    if accelerators := hardware.accelerators():
        facts["accelerator"] = ", ".join(accelerators)
        facts["PyTorch, LiteRT, ONNX Runtime"] = "on the processor"
    return facts


def line() -> str:
    """Returns `describe()` in one line."""
    return "; ".join(f"{name} {value}" for name, value in describe().items())


def cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
