"""Comparison: tunes each activation equally, makes paired runs, writes the results."""

import math
from collections.abc import Callable, Mapping, Sequence

from elu_zoo import files
from elu_zoo.compare import drawing, estimate, report, result, tables, trials, tuning
from elu_zoo.compare.config import TUNING_SEED, ComparisonConfig, with_own_files
from elu_zoo.compare.result import ComparisonResult, RunResult, Runs
from elu_zoo.compare.tuning import Choice
from elu_zoo.pairs import runner
from elu_zoo.pairs.spec import Plan, Trial

Say = Callable[[str], None]
# From specs and the name of a stage to the results of runs.
Train = Callable[[Sequence[Trial], str], dict[Trial, RunResult]]


def compare(comparison: ComparisonConfig, jobs: int, say: Say) -> None:
    """Tunes, trains, and writes tables, figures and the report.

    `comparison` is a result of `config.check`, and `say` receives each line of progress.
    Finished runs are not repeated, and interrupted runs are resumed.
    """
    comparison = with_own_files(comparison)
    folder, written = comparison.output / "runs", comparison.output / report.NAME
    if written.exists() and f"`{comparison.command}`" not in files.read(written).decode():
        say(f"{written} is of another command, and will be replaced.")
    plan = Plan("full", None, folder, comparison.data_dir, module=comparison.module)
    at_config = dict.fromkeys(comparison.activations, 1.0)
    first = trials.paired(comparison, at_config)[: len(at_config)]
    left = remaining(comparison, plan)
    costs = estimate.measure(first, plan, jobs, comparison.output / "step_times.json")
    say(estimate.text(costs, comparison, jobs, left))

    def train(specs: Sequence[Trial], stage: str) -> dict[Trial, RunResult]:
        return _train(specs, plan, jobs, lambda line: say(f"{stage}, {line}"))

    runs = tune(comparison, train)
    runs |= train(trials.paired(comparison, at_config), "at the config's rates")
    choices = choose(comparison, runs)
    for name, choice in choices.items():
        if comparison.tune > 1:
            say(f"{name}: {tables.choice_text(choice)}")
    runs |= train(trials.paired(comparison, _others(choices)), "at the best rates")
    found = ComparisonResult(comparison, runs, choices, {cost.activation: cost for cost in costs})
    tables.write(found, comparison.output)
    drawing.draw(found, comparison.output)
    report.write(found, comparison.output)
    say(report.conclusions(found))
    say(f"{written}")


def tune(comparison: ComparisonConfig, train: Train) -> dict[Trial, RunResult]:
    """Makes the tuning runs, by the same rules for each activation; returns their results."""
    runs: dict[Trial, RunResult] = {}
    if comparison.tune == 1:
        return runs
    for i in range(comparison.tune):
        factors = [tuning.next_factor(result.tried(runs, name)) for name in comparison.activations]
        pairs = zip(comparison.activations, factors, strict=True)
        specs = [trials.create(comparison, *pair, TUNING_SEED) for pair in pairs if pair[1]]
        runs |= train(specs, f"tuning {i + 1} of at most {comparison.tune}")
    specs = [
        trials.create(comparison, name, factor, TUNING_SEED + seed)
        for name in comparison.activations
        for factor, seed in tuning.again(result.tried(runs, name))
    ]
    return runs | train(specs, "tuning with further seeds")


def choose(comparison: ComparisonConfig, runs: Runs) -> dict[str, Choice]:
    """Returns the choice of each activation; without tuning, the config's rate."""
    if comparison.tune == 1:
        return dict.fromkeys(comparison.activations, Choice(1.0, False))
    return {name: tuning.choose(result.tried(runs, name)) for name in comparison.activations}


def remaining(comparison: ComparisonConfig, plan: Plan) -> list[list[int]]:
    """Returns the numbers of runs that are left to train in each stage, few and many.

    The tuning decides them. There are few runs if all that are left have equally large
    errors, and many if a higher rate has a smaller error.
    """
    guesses = (lambda trial: math.inf), (lambda trial: -trial.factor)
    return sorted((_missing(comparison, plan, guess) for guess in guesses), key=sum)


def _missing(
    comparison: ComparisonConfig, plan: Plan, guess: Callable[[Trial], float]
) -> list[int]:
    """Returns the numbers of missing runs in each stage if they have the guessed errors."""
    missing = []

    def pretend(specs: Sequence[Trial], _: str = "") -> dict[Trial, RunResult]:
        found = {each: result.finished(each, plan) for each in specs}
        missing.append(sum(measured is None for measured in found.values()))
        return {each: measured or RunResult(guess(each)) for each, measured in found.items()}

    runs = tune(comparison, pretend)
    pretend(trials.paired(comparison, dict.fromkeys(comparison.activations, 1.0)))
    pretend(trials.paired(comparison, _others(choose(comparison, runs))))
    return missing


def _others(choices: Mapping[str, Choice]) -> dict[str, float]:
    """Returns the chosen factors that are not the config's rates, by activation."""
    factors = {name: choice.factor for name, choice in choices.items()}
    return {name: factor for name, factor in factors.items() if factor not in (None, 1.0)}


def _train(specs: Sequence[Trial], plan: Plan, jobs: int, say: Say) -> dict[Trial, RunResult]:
    """Trains the runs that are not finished, and returns the results of all runs."""
    results: dict = {each: result.finished(each, plan) for each in specs}
    missing = [each for each, measured in results.items() if measured is None]
    trained = runner.run(missing, plan, result.measure, jobs)
    for i, (each, rows) in enumerate(trained, 1):
        results[each] = RunResult(diverged=rows) if isinstance(rows, str) else rows[0]
        failed = " diverged" if isinstance(rows, str) else " stayed at chance"
        found = results[each]
        end = failed if found.diverged else f", error {found.error:.4g}"
        say(f"{i} of {len(missing)}: {each.label}{end}")
    return results
