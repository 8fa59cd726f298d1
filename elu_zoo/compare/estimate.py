"""Estimate of a comparison's time, and step times of the activations.

The steps of all activations are timed in turn in one process with the threads of a run.
"""

import concurrent.futures
import dataclasses
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from elu_zoo import errors, files, user_module
from elu_zoo.compare.spec import Spec
from elu_zoo.data.dataset import ImageData
from elu_zoo.paper.run import runner, worker
from elu_zoo.paper.run.spec import Plan
from elu_zoo.training import backends, build, calls
from elu_zoo.training.config import ResolvedConfig, resolve
from elu_zoo.training.state import TrainState

_ROUNDS = range(3, 16)
_SECONDS = 20.0  # after which no round begins


@dataclasses.dataclass(frozen=True)
class Cost:
    """Measured times of an activation, in seconds.

    Attributes:
        activation: its name.
        start: building, compiling and the first evaluation.
        step: one iteration, the median over rounds.
        evaluation: one evaluation on the validation or test images.
        steps: iterations of a run.
        evaluations: number of evaluations of a run.
        ratio: step time divided by the reference's, the median over rounds.
    """

    activation: str
    start: float
    step: float
    evaluation: float
    steps: int
    evaluations: int
    ratio: float

    @property
    def run(self) -> float:
        """Seconds of a run."""
        iterations = self.steps * self.step
        return self.start + iterations + self.evaluations * self.evaluation


def measure(specs: Sequence[Spec], plan: Plan, jobs: int, path: Path) -> list[Cost]:
    """Returns the cost of each activation, from a file if they were measured before.

    It builds every network of the comparison, and so finds what cannot be trained
    before the first run.

    Args:
        specs: one run of each activation, the reference's first.
        plan: where data and logs are.
        jobs: number of runs at the same time.
        path: JSON file of measured costs.

    Raises:
        UsageError: a network cannot be built or the data set does not exist.
        DataError: the data set is missing.
        ResourceError: the process crashed.
    """
    key = [str(spec.folder(plan)) for spec in specs]
    if path.exists() and (known := json.loads(path.read_text()))["runs"] == key:
        return [Cost(**cost) for cost in known["costs"]]
    with runner.threads(jobs):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
            1, context, initializer=worker.start, initargs=(plan.workdir,)
        ) as pool:
            try:
                costs = pool.submit(_measure, specs, plan, time.time()).result()
            except concurrent.futures.process.BrokenProcessPool:
                raise errors.ResourceError(
                    "The process that measures step times crashed, perhaps without "
                    "enough memory. Its output is in "
                    f"{plan.workdir / 'logs'}. Compare fewer activations."
                ) from None
    content = {"runs": key, "costs": [dataclasses.asdict(cost) for cost in costs]}
    files.write_json(path, content)
    return costs


def _measure(specs: Sequence[Spec], plan: Plan, begin: float) -> list[Cost]:
    """Measures all activations in this process, which began at a time."""
    if plan.module:
        user_module.load(plan.module)
    process = (time.time() - begin) / runner.RUNS_PER_PROCESS
    resolved = [resolve(spec.load()) for spec in specs]
    data = build.load_data(resolved[0], plan.data_dir)
    built = [
        _checked(spec.activation, each, data)
        for spec, each in zip(specs, resolved, strict=True)
    ]
    times = _in_turn([call for call, *_ in built])
    costs = []
    for spec, (_, run, start, evaluation), seconds in zip(
        specs, built, times, strict=True
    ):
        measured = run.train.epochs // run.train.evaluate_every
        ratios = [one / first for one, first in zip(seconds, times[0], strict=True)]
        costs.append(
            Cost(
                activation=spec.activation,
                start=start + process,
                step=statistics.median(seconds),
                evaluation=evaluation,
                steps=run.length.total,
                evaluations=measured * (run.validation is not None) + 1,
                ratio=statistics.median(ratios),
            )
        )
    return costs


def _checked(activation: str, resolved: ResolvedConfig, data: ImageData) -> tuple:
    """Returns the result of `_built`; a user's activation may raise anything."""
    try:
        return _built(resolved, data)
    except errors.EluZooError:
        raise
    except Exception as error:
        reason = errors.graph_reason(str(error)) or str(error)
        raise errors.UsageError(
            f"The config cannot be trained with the activation {activation!r}: "
            f"{type(error).__name__}: {reason} An activation takes a tensor of floats "
            "and returns one of the same shape."
        ) from error


def _built(resolved: ResolvedConfig, data: ImageData) -> tuple:
    """Returns a call that times a step, the run, and seconds of its start and test."""
    begin = time.perf_counter()
    place = backends.place(False, "auto", None)
    run = build.build(resolved, data, place, ("auto", None, 1))
    state = TrainState(resolved.values, data.images)
    call = next(calls.remaining_calls(run, state, lambda step: run.length.total))
    run.step.start(call.rest)
    if run.phases.enter(run.model, call.first):
        run.step.compile()
    still = np.zeros_like(call.learning_rates)  # a loss that diverges takes other times

    def seconds() -> float:
        start = time.perf_counter()
        run.step.run(call.batches, still, call.first, call.draws)
        return (time.perf_counter() - start) / len(still)

    seconds()
    split = data.test if run.validation is None else run.validation
    run.evaluator(split)
    start = time.perf_counter() - begin
    begin = time.perf_counter()
    run.evaluator(split)
    return seconds, run, start, time.perf_counter() - begin


def _in_turn(calls_: Sequence[Callable[[], float]]) -> list[list[float]]:
    """Returns the seconds of each call in rounds, in which each is called once."""
    begin, rounds = time.perf_counter(), []
    while len(rounds) < _ROUNDS.stop - 1:
        if len(rounds) >= _ROUNDS.start and time.perf_counter() - begin > _SECONDS:
            break
        rounds.append([call() for call in calls_])
    return [list(column) for column in zip(*rounds, strict=True)]


def text(costs: Sequence[Cost], tune: int, seeds: int, jobs: int) -> str:
    """Returns the number of runs, their time, and what the pairs can decide.

    Args:
        costs: of each activation, the reference's first.
        tune: runs that tune each activation; 1: no tuning.
        seeds: paired runs of each activation.
        jobs: number of runs at the same time.
    """
    tuning = tune if tune > 1 else 0
    fewest = tuning + seeds
    most = fewest + seeds if tuning else fewest
    units = len(costs)
    whole = sum(cost.run for cost in costs)
    low, high = (duration(whole * count / jobs) for count in (fewest, most))
    pairs = "1 pair" if seeds == 1 else f"{seeds} pairs"
    tests = "1 comparison" if units == 2 else f"{units - 1} comparisons"
    return (
        f"{units} activations, each with "
        + (f"{tuning} runs for tuning and {seeds} " if tuning else f"{seeds} runs ")
        + "at the config's learning rates"
        + f", and {seeds} more where another rate is better" * bool(tuning)
        + f": {units * fewest}"
        + f" to {units * most}" * bool(tuning)
        + f" runs, {jobs} at a time. From measured steps: {low}"
        + f" to {high}" * (low != high)
        + ", at the machine's present load.\n"
        f"What {pairs} can decide: the exact Wilcoxon test has p >= "
        f"{smallest_p(seeds):.2g}, before Holm's correction for {tests}. Student's "
        "interval can decide from 5 pairs on; how small a difference it excludes "
        "depends on the spread over seeds, which is unknown before the runs."
    )


def smallest_p(pairs: int) -> float:
    """Returns the smallest two-sided p of the exact Wilcoxon test."""
    return min(1.0, 2.0 ** (1 - pairs))


def duration(seconds: float) -> str:
    """Returns seconds as text: "40 seconds", "7 minutes", "2.5 hours"."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
