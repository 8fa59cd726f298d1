"""Memory of training: peak memory of a new process minus its memory after imports."""

import concurrent.futures
import dataclasses
import gc
import multiprocessing
import re
from pathlib import Path

from elu_zoo import quiet
from elu_zoo.benchmark.case import Case


def measure(case: Case) -> float:
    """Returns the memory of our training steps, in MiB."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, quiet.follow) as pool:
        return pool.submit(_measure, case).result()


def _measure(case: Case) -> float:
    from elu_zoo.benchmark import step

    # A small network imports all modules first, so that their memory is not counted.
    dataclasses.replace(case, model="mnist_mlp_8x128").create()
    gc.collect()
    before = _status("VmRSS")
    call = step.ours(case)
    call(), call()
    return _status("VmHWM") - before


def _status(key: str) -> float:
    """Returns a value of /proc/self/status in MiB."""
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) / 1024
