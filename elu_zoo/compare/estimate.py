"""Estimate of a comparison's time, and step times of the activations.

One process, with as many threads as a run, times steps of all activations in turn.
"""

import concurrent.futures
import dataclasses
import math
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from elu_zoo import errors, files, user_module
from elu_zoo.compare.config import ComparisonConfig
from elu_zoo.compare.tuning import FURTHER_RUNS
from elu_zoo.pairs import runner, worker
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.pairs.statistics import LEAST_PAIRS
from elu_zoo.training import backends, build, chunks
from elu_zoo.training.config import resolve

_ROUNDS = 5  # each times every activation once


@dataclasses.dataclass(frozen=True)
class Cost:
    """Measured times of an activation, in seconds.

    Attributes:
        activation: name of the activation.
        start: time of building, compiling and an evaluation.
        step: time of one iteration, the median over rounds.
        steps: number of iterations of a run.
        ratio: step time divided by the reference's step time, the median over rounds.
    """

    activation: str
    start: float
    step: float
    steps: int
    ratio: float


def measure(trials: Sequence[Trial], plan: Plan, jobs: int, path: Path) -> list[Cost]:
    """Returns the cost of each activation, from `path` if it was stored there before.

    Every network is built and makes training steps, so that a network that cannot be
    trained raises an error before the first run.

    Args:
        trials: spec of one run of each activation; the reference comes first.
        plan: folders of the data and of the logs.
        jobs: number of runs at the same time.
        path: JSON file of measured costs, which need not exist.
    """
    key = [f"{jobs} jobs", *(str(trial.folder(plan)) for trial in trials)]
    if path.exists() and (stored := files.read_json(path))["runs"] == key:
        return [Cost(**cost) for cost in stored["costs"]]
    context = multiprocessing.get_context("spawn")
    with (
        runner.threads(jobs),
        concurrent.futures.ProcessPoolExecutor(
            1, context, initializer=worker.start, initargs=(plan.workdir,)
        ) as pool,
    ):
        try:
            costs = pool.submit(_measure, trials, plan).result()
        except concurrent.futures.process.BrokenProcessPool:
            raise errors.ResourceError(
                "The process that measures step times crashed, perhaps for lack of "
                f"memory. Its output is in {plan.workdir / 'logs'}. Compare fewer activations."
            ) from None
    files.write_json(path, {"runs": key, "costs": [dataclasses.asdict(cost) for cost in costs]})
    return costs


def _measure(trials: Sequence[Trial], plan: Plan) -> list[Cost]:
    if plan.module:
        user_module.load(plan.module)
    resolved = [resolve(trial.load()) for trial in trials]
    data = build.load_data(resolved[0], plan.data_dir)
    runs, kernels, timers, starts = [], [], [], []
    for trial, each in zip(trials, resolved, strict=True):
        begin = time.perf_counter()
        try:
            run = build.build(
                each, data, backends.choose_devices(False, "auto", None), ("auto", None, 1)
            )
            kernels.append([np.array(v) for v in run.model.weights if v.name.endswith("kernel")])
            timers.append(chunks.timer(run))
        except errors.EluZooError:
            raise
        except Exception as error:  # a user's activation may raise any
            reason = errors.graph_reason(str(error)) or str(error)
            raise errors.UsageError(
                f"The config cannot be trained with the activation {trial.activation!r}: "
                f"{type(error).__name__}: {reason} An activation takes a tensor of floats "
                "and returns a tensor of the same shape."
            ) from error
        run.evaluator(data.test if run.validation is None else run.validation)
        starts.append(time.perf_counter() - begin)
        runs.append(run)
    _check_pairs(trials, kernels)
    seconds = np.array([[timer() for timer in timers] for _ in range(_ROUNDS)])
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    return [
        Cost(trial.activation, start, statistics.median(steps), run.length.total, float(ratio))
        for trial, start, steps, run, ratio in zip(
            trials, starts, seconds.T.tolist(), runs, ratios, strict=True
        )
    ]


def _check_pairs(trials: Sequence[Trial], kernels: Sequence[list[np.ndarray]]) -> None:
    """Checks that the initial kernels of the networks are equal."""
    expected, *others = kernels
    for trial, own in zip(trials[1:], others, strict=True):
        if [k.shape for k in own] != [k.shape for k in expected]:
            raise errors.UsageError(
                f"The networks with {trial.activation} and {trials[0].activation} have "
                "kernels of different shapes, so that their runs would not be pairs. "
                "Remove one of the two activations."
            )
        if not all(map(np.array_equal, own, expected)):
            raise errors.UsageError(
                f"The initial kernels with {trial.activation} differ from those with "
                f"{trials[0].activation} and the same seed, so that runs would not be "
                "pairs. Give each layer of the network an initializer with its own "
                "seed: kernel_initializer=HeUniform(layer_seed(seed, name)), from "
                "elu_zoo.initializers."
            )


def text(
    costs: Sequence[Cost], comparison: ComparisonConfig, jobs: int, fewest: int, most: int
) -> str:
    """Returns the number of runs, their time and what the pairs can decide, as text.

    Args:
        costs: cost of each activation.
        comparison: the comparison.
        jobs: number of simultaneous runs.
        fewest: number of runs that are left to train.
        most: the same with runs that may not be necessary.
    """
    seeds, tuned = comparison.seeds, comparison.tune > 1
    tuning = f"{comparison.tune + FURTHER_RUNS} runs for tuning and " * tuned
    more = f", and {seeds} more where another rate is better" * tuned
    seconds = statistics.mean(cost.start + cost.steps * cost.step for cost in costs) / jobs
    return (
        f"{len(costs)} activations, each with {tuning}{seeds} run{'s' * (seeds > 1)} at the "
        f"config's rates{more}. To train: {_range(fewest, most)} runs, {jobs} at a time. "
        "Estimate from measured steps, without evaluations: "
        f"{_range(duration(fewest * seconds), duration(most * seconds))}, at the load when "
        f"they were measured.\n{decidable(seeds, len(costs) - 1)}"
    )


def _range(low: object, high: object) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def decidable(seeds: int, tests: int) -> str:
    """Returns what a number of pairs can decide in a number of tests, as text."""
    if seeds < LEAST_PAIRS:
        return f"Fewer than {LEAST_PAIRS} pairs of runs: nothing will be concluded."
    from scipy import stats

    # Half the width of the interval in the first and in the last step of Holm.
    first, last = (
        float(stats.t.ppf(1 - 0.025 / m, seeds - 1)) / math.sqrt(seeds) for m in (tests, 1)
    )
    widths = f"{last:.2f}" + f" to {first:.2f}" * (tests > 1)
    p = smallest_p(seeds)
    return (
        f"What {seeds} pairs can decide: Student's interval of a difference is the "
        f"mean ± {widths} standard deviations of the paired differences, which are "
        f"unknown before the runs. The exact Wilcoxon test has p >= {p:.2g}"
        + (", so that it decides nothing." if p > 0.05 else ", before a correction.")
    )


def smallest_p(pairs: int) -> float:
    """Returns the smallest two-sided p that Wilcoxon's exact test can have."""
    return min(1.0, 2.0 ** (1 - pairs))


def duration(seconds: float) -> str:
    """Returns seconds as text: "40 seconds", "7 minutes", "2.5 hours"."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
