"""Estimate of a comparison's time, and step times of the activations.

One process, with as many threads as a run, times steps of all activations in turn.
"""

import concurrent.futures
import dataclasses
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from elu_zoo import errors, files, user_module
from elu_zoo.compare.question import Question
from elu_zoo.compare.spec import Spec
from elu_zoo.compare.tuning import FURTHER_RUNS
from elu_zoo.data.dataset import ImageData
from elu_zoo.pairs import runner, worker
from elu_zoo.pairs.spec import Plan
from elu_zoo.pairs.statistics import LEAST_PAIRS
from elu_zoo.training import backends, build, chunks
from elu_zoo.training.config import ResolvedConfig, resolve
from elu_zoo.training.record.checkpoint import TrainState

Stage = Mapping[str, int]  # number of runs by activation
_ROUNDS = range(3, 16)  # possible numbers of rounds; each times every activation once
_SECONDS = 20.0  # no round begins later than this


@dataclasses.dataclass(frozen=True)
class Cost:
    """Measured times of an activation, in seconds.

    Attributes:
        activation: name of the activation.
        process: time in which a process starts, which makes several runs.
        start: time of building, compiling and the first evaluation.
        step: time of one iteration, the median over rounds.
        evaluation: time of one evaluation on the validation or test images.
        steps: number of iterations of a run.
        evaluations: number of evaluations of a run.
        ratio: step time divided by the reference's step time, the median over rounds.
    """

    activation: str
    process: float
    start: float
    step: float
    evaluation: float
    steps: int
    evaluations: int
    ratio: float

    @property
    def run(self) -> float:
        """Estimated seconds of a run."""
        iterations = self.steps * self.step
        return self.start + iterations + self.evaluations * self.evaluation


def measure(specs: Sequence[Spec], plan: Plan, jobs: int, path: Path) -> list[Cost]:
    """Returns the cost of each activation, from `path` if it was stored there before.

    Every network is built and makes training steps, so that a network that cannot be
    trained raises an error before the first run.

    Args:
        specs: spec of one run of each activation; the reference comes first.
        plan: folders of the data and of the logs.
        jobs: number of runs at the same time.
        path: JSON file of measured costs, which need not exist.
    """
    # Times that earlier versions stored without a check of the kernels do not count.
    key = [f"{jobs} jobs, equal kernels", *(str(spec.folder(plan)) for spec in specs)]
    if path.exists() and (stored := files.read_json(path))["runs"] == key:
        return [Cost(**cost) for cost in stored["costs"]]
    with runner.threads(jobs):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
            1, context, initializer=worker.start, initargs=(plan.workdir,)
        ) as pool:
            try:
                costs = pool.submit(_measure, specs, plan, time.time()).result()
            except concurrent.futures.process.BrokenProcessPool:
                raise errors.ResourceError(
                    "The process that measures step times crashed, perhaps for "
                    "lack of memory. Its output is in "
                    f"{plan.workdir / 'logs'}. Compare fewer activations."
                ) from None
    content = {"runs": key, "costs": [dataclasses.asdict(cost) for cost in costs]}
    files.write_json(path, content)
    return costs


def _measure(specs: Sequence[Spec], plan: Plan, begin: float) -> list[Cost]:
    """Returns all costs; `begin` is the time at which this process was started."""
    if plan.module:
        user_module.load(plan.module)
    process = time.time() - begin
    resolved = [resolve(spec.load()) for spec in specs]
    data = build.load_data(resolved[0], plan.data_dir)
    built = [
        _checked(spec.activation, each, data) for spec, each in zip(specs, resolved, strict=True)
    ]
    _check_pairs(specs, [kernels for *_, kernels in built])
    times = _in_turn([call for call, *_ in built])
    costs = []
    for spec, (_, run, start, evaluation, _), seconds in zip(specs, built, times, strict=True):
        validations = run.train.epochs // run.train.evaluate_every
        ratios = [step / base for step, base in zip(seconds, times[0], strict=True)]
        costs.append(
            Cost(
                activation=spec.activation,
                process=process,
                start=start,
                step=statistics.median(seconds),
                evaluation=evaluation,
                steps=run.length.total,
                evaluations=validations * (run.validation is not None) + 1,  # 1: test
                ratio=statistics.median(ratios),
            )
        )
    return costs


def _check_pairs(specs: Sequence[Spec], kernels: Sequence[list[np.ndarray]]) -> None:
    """Checks that the initial kernels of the networks are equal."""
    expected, *others = kernels
    for spec, own in zip(specs[1:], others, strict=True):
        if [k.shape for k in own] != [k.shape for k in expected]:
            raise errors.UsageError(
                f"The networks with {spec.activation} and {specs[0].activation} have "
                "kernels of different shapes, so that their runs would not be pairs. "
                "Remove one of the two activations."
            )
        if not all(map(np.array_equal, own, expected)):
            raise errors.UsageError(
                f"The initial kernels with {spec.activation} differ from those with "
                f"{specs[0].activation} and the same seed, so that runs would not be "
                "pairs. Give each layer of the network an initializer with its own "
                "seed: kernel_initializer=HeUniform(layer_seed(seed, name)), from "
                "elu_zoo.initializers."
            )


def _checked(activation: str, resolved: ResolvedConfig, data: ImageData) -> tuple:
    """Calls `_built`; raises UsageError for any error of a user's activation."""
    try:
        return _built(resolved, data)
    except errors.EluZooError:
        raise
    except Exception as error:
        reason = errors.graph_reason(str(error)) or str(error)
        raise errors.UsageError(
            f"The config cannot be trained with the activation {activation!r}: "
            f"{type(error).__name__}: {reason} An activation takes a tensor of floats "
            "and returns a tensor of the same shape."
        ) from error


def _built(resolved: ResolvedConfig, data: ImageData) -> tuple:
    """Returns a timer of a step, the run, seconds of start and evaluation, kernels."""
    begin = time.perf_counter()
    placement = backends.choose_devices(False, "auto", None)
    run = build.build(resolved, data, placement, ("auto", None, 1))
    kernels = [np.array(v) for v in run.model.weights if v.name.endswith("kernel")]
    state = TrainState(resolved.values, data.images)
    chunk = next(chunks.remaining_chunks(run, state, lambda step: run.length.total))
    run.step.start(chunk.rest)
    if run.phases.enter(run.model, chunk.first):
        run.step.compile()
    # The weights stay as they are, because steps of a diverging run take other times.
    zero_rates = np.zeros_like(chunk.learning_rates)

    def seconds_of_step() -> float:
        start = time.perf_counter()
        losses = run.step.run(chunk.batches, zero_rates, chunk.first, chunk.draws)
        np.asarray(losses)  # waits for the device
        return (time.perf_counter() - start) / len(zero_rates)

    seconds_of_step()  # compiles
    run.step.sync()
    split = data.test if run.validation is None else run.validation
    run.evaluator(split)
    start = time.perf_counter() - begin
    begin = time.perf_counter()
    run.evaluator(split)
    return seconds_of_step, run, start, time.perf_counter() - begin, kernels


def _in_turn(timers: Sequence[Callable[[], float]]) -> list[list[float]]:
    """Calls all timers in each of several rounds; returns the seconds of each timer."""
    begin, rounds = time.perf_counter(), []
    while len(rounds) < _ROUNDS.stop - 1:
        if len(rounds) >= _ROUNDS.start and time.perf_counter() - begin > _SECONDS:
            break
        rounds.append([timer() for timer in timers])
    return [list(column) for column in zip(*rounds, strict=True)]


def text(
    costs: Sequence[Cost],
    question: Question,
    processes: tuple[int, int],
    stages: Sequence[Stage],
    perhaps: Stage,
) -> str:
    """Returns the number of runs, their time and what the pairs can decide, as text.

    Args:
        costs: cost of each activation.
        question: the comparison.
        processes: number of simultaneous processes, and of runs in each process.
        stages: runs to train; a stage begins when the stage before it has ended.
        perhaps: runs of a last stage, which may not be necessary.
    """
    tuning = question.tune + FURTHER_RUNS if question.tune > 1 else 0
    low = sum(_seconds(stage, costs, *processes) for stage in stages)
    times = low, low + _seconds(perhaps, costs, *processes)
    fewest = sum(sum(stage.values()) for stage in stages)
    return (
        f"{len(costs)} activations, each with "
        + f"{tuning} runs for tuning and " * bool(tuning)
        + f"{question.seeds} run{'s' * (question.seeds > 1)} at the config's rates"
        + f", and {question.seeds} more where another rate is better" * bool(tuning)
        + f". To train: {_range(fewest, fewest + sum(perhaps.values()))} runs, "
        + f"{processes[0]} at a time. Estimate from measured steps: "
        + f"{_range(*map(duration, times))}, at the load when they were measured.\n"
        + decidable(question.seeds, len(costs) - 1)
    )


def _range(low: object, high: object) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _seconds(stage: Stage, costs: Sequence[Cost], jobs: int, per_process: int) -> float:
    """Returns the estimated time of a stage."""
    if not any(stage.values()):
        return 0.0
    runs = [(cost.run, stage.get(cost.activation, 0)) for cost in costs]
    work = sum(seconds * count for seconds, count in runs)
    longest = max(seconds for seconds, count in runs if count)
    batches = math.ceil(sum(stage.values()) / (jobs * per_process))
    return max(work / jobs, longest) + batches * costs[0].process


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
