"""Estimate of a comparison's time, and step times of the activations.

As many processes as there are simultaneous runs, with as many threads, make at the same time
what a run does: load the images, build, compile, evaluate, and train steps in turn.
"""

import concurrent.futures
import dataclasses
import gc
import math
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
from absl import logging

from elu_zoo import errors, files, user_module
from elu_zoo.compare.config import ComparisonConfig
from elu_zoo.compare.tuning import FURTHER_RUNS
from elu_zoo.data import load
from elu_zoo.pairs import runner, worker
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.pairs.statistics import LEAST_PAIRS
from elu_zoo.training import backends, build, chunks
from elu_zoo.training.config import resolve

_ROUNDS = 5  # each times the reference and an activation once


@dataclasses.dataclass(frozen=True)
class Cost:
    """Measured times of an activation, in seconds, the means over the processes."""

    activation: str
    process: float  # from the start of a process to its first run
    run: float
    ratio: float  # of the step time to the reference's, the median over rounds


def measure(trials: Sequence[Trial], plan: Plan, jobs: int, path: Path) -> list[Cost]:
    """Returns the cost of each activation, from the JSON file `path` if it was stored there.

    Every network is built and makes training steps, so that a network that cannot be
    trained raises an error before the first run. The reference comes first.
    """
    machine = (
        platform.node(),
        keras.backend.backend(),
        os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    )
    key = [f"{jobs} jobs", *machine, *(str(trial.folder(plan)) for trial in trials)]
    if path.exists() and (stored := files.read_json(path))["runs"] == key:
        return [Cost(**cost) for cost in stored["costs"]]
    context, begin = multiprocessing.get_context("spawn"), time.time()
    with (
        runner.threads(jobs),
        concurrent.futures.ProcessPoolExecutor(
            jobs, context, initializer=worker.start, initargs=(plan.workdir,)
        ) as pool,
    ):
        try:
            tasks = [pool.submit(_measure, trials, plan, begin) for _ in range(jobs)]
            measured = np.mean([task.result() for task in tasks], axis=0).tolist()
        except concurrent.futures.process.BrokenProcessPool:
            raise errors.ResourceError(
                "The process that measures step times crashed, perhaps for lack of "
                f"memory. Its output is in {plan.workdir / 'logs'}. Set a lower --jobs."
            ) from None
        except BaseException:  # the other processes could take minutes
            runner.stop_children()
            raise
    for line in worker.warnings(plan.workdir, begin):
        logging.warning("%s", line)
    costs = [Cost(each.activation, *row) for each, row in zip(trials, measured, strict=True)]
    files.write_json(path, {"runs": key, "costs": [dataclasses.asdict(cost) for cost in costs]})
    return costs


def _measure(trials: Sequence[Trial], plan: Plan, begin: float) -> list[list[float]]:
    """Returns the numbers of `Cost` for each activation; `begin` is the process's start."""
    if plan.module:
        user_module.load(plan.module)
    resolved = [resolve(trial.load()) for trial in trials]
    data = build.load_data(resolved[0], plan.data_dir)
    encoded = resolved[0].config.data.name == load.IMAGENET
    process = time.time() - begin
    timers, once, evaluations, rounds, expected = [], [], [], [], list[np.ndarray]()
    for trial, each in zip(trials, resolved, strict=True):
        begin = time.perf_counter()
        try:
            devices = backends.choose_devices(encoded, "auto", None, each.config.train.batch_size)
            run = build.build(each, data, devices, ("auto", None, 1))
            kernels = [np.array(v) for v in run.model.weights if v.name.endswith("kernel")]
            timers.append(chunks.timer(run))
        except (errors.EluZooError, MemoryError, OSError):
            raise
        except Exception as error:  # a user's activation may raise any
            if "resourceexhausted" in f"{type(error)} {error}".lower().replace("_", ""):
                raise
            reason = errors.graph_reason(str(error)) or str(error)
            raise errors.UsageError(
                f"The config cannot be trained with the activation {trial.activation!r}: "
                f"{type(error).__name__}: {reason.rstrip('.')}. An activation takes a tensor of "
                "floats and returns a tensor of the same shape."
            ) from error
        for _ in range(2):  # the first evaluation is traced
            ready = time.perf_counter()
            run.evaluator(data.test if run.validation is None else run.validation)
            evaluations.append(time.perf_counter() - ready)
        once.append(time.perf_counter() - begin)
        expected = expected or kernels
        _check_pair(trial.activation, trials[0].activation, kernels, expected)
        rounds.append([(timers[0](), timers[-1]()) for _ in range(_ROUNDS)])
        count, train, validated = run.length.total, run.train, run.validation is not None
        del run, timers[1:]  # each run holds the training images
        gc.collect()
    # The first network also pays for what starts once, which is the process's time.
    later = statistics.median(once[1:])
    process, once[0] = process + max(0.0, once[0] - later), min(once[0], later)
    reference, steps = np.moveaxis(np.array(rounds), 2, 0)
    ratios = np.median(steps / reference, axis=1)
    ratios[0] = 1.0
    times = 1 + validated * train.epochs // train.evaluate_every
    totals = once + count * np.median(steps, 1) + times * np.array(evaluations[1::2])
    return np.stack([np.full(len(trials), process), totals, ratios], 1).tolist()


def _check_pair(name: str, reference: str, own: list[np.ndarray], others: list) -> None:
    """Checks that the initial kernels with two activations are equal."""
    if [k.shape for k in own] != [k.shape for k in others]:
        raise errors.UsageError(
            f"The networks with {name} and {reference} have kernels of different shapes, so that "
            "their runs would not be pairs. Remove one of the two activations."
        )
    if not all(map(np.array_equal, own, others)):
        raise errors.UsageError(
            f"The initial kernels with {name} differ from those with {reference} and the same "
            "seed, so that runs would not be pairs. Give each layer of the network an initializer "
            "with its own seed: kernel_initializer=HeUniform(layer_seed(seed, name)), from "
            "elu_zoo.initializers."
        )


def seconds(costs: Sequence[Cost], jobs: int, stages: Sequence[int]) -> float:
    """Returns the estimated time of stages of runs, each of which waits for the one before.

    Processes are started again after a few runs, and with every stage.
    """
    run, process = (statistics.mean(getattr(cost, x) for cost in costs) for x in ("run", "process"))
    batch = jobs * runner.RUNS_PER_PROCESS
    return sum(math.ceil(n / jobs) * run + math.ceil(n / batch) * process for n in stages)


def text(
    costs: Sequence[Cost], comparison: ComparisonConfig, jobs: int, stages: Sequence[Sequence[int]]
) -> str:
    """Returns the number of runs and their time as text.

    `stages` are the numbers of runs that are left to train in each stage, few and many.
    """
    seeds, tuned = comparison.seeds, comparison.tune > 1
    tuning = f"at most {comparison.tune + FURTHER_RUNS} runs for tuning and " * tuned
    more = f", and {seeds} more where another rate is better" * tuned
    few = f"\nFewer than {LEAST_PAIRS} pairs of runs: nothing will be concluded."
    few *= seeds < LEAST_PAIRS
    times = (duration(seconds(costs, jobs, each)) for each in stages)
    return (
        f"{len(costs)} activations, each with {tuning}{seeds} run{'s' * (seeds > 1)} at the "
        f"config's rates{more}. To train: {_range(*map(sum, stages))} runs, {jobs} at a time. "
        f"Estimate from parts of runs, {jobs} at a time: {_range(*times)}, at the load when "
        f"they were measured.{few}"
    )


def _range(low: object, high: object) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def duration(seconds: float) -> str:
    """Returns seconds as text: "40 seconds", "7 minutes", "2.5 hours"."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
