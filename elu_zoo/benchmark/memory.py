"""Memory that training takes: of a process of its own, beyond what is imported."""

import concurrent.futures
import dataclasses
import gc
import multiprocessing
import re
from pathlib import Path

from elu_zoo import quiet
from elu_zoo.benchmark.case import Case


def mebibytes(case: Case) -> float:
    """Returns the most that our trainer needs for a few steps, in MiB.

    Raises:
        FileNotFoundError: the system does not tell, as Linux does in /proc.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context, quiet.follow) as pool:
        return pool.submit(_measured, case).result()


def _measured(case: Case) -> float:
    from elu_zoo.benchmark import step

    # Imports are done, and are not counted.
    dataclasses.replace(case, model="mnist_mlp_8x128").create()
    gc.collect()
    before = _status("VmRSS")
    call = step.ours(case)
    call(), call()
    return _status("VmHWM") - before


def _status(key: str) -> float:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) / 1024
