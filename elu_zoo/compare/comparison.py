"""Comparison: tunes each activation equally, makes paired runs, writes the results."""

import collections
from collections.abc import Callable, Mapping, Sequence

from elu_zoo.compare import drawing, estimate, report, spec, tables, tuning
from elu_zoo.compare.answer import Answer, Runs
from elu_zoo.compare.question import TUNING_SEED, Question
from elu_zoo.compare.spec import Measured, Spec
from elu_zoo.compare.tuning import Choice
from elu_zoo.paper.run import runner
from elu_zoo.paper.run.spec import Plan

_SHORT_RUN = 60.0  # seconds
_RUNS_PER_PROCESS = 12  # of short runs, so that fewer processes must start
Say = Callable[[str], None]
Train = Callable[[Sequence[Spec]], dict[Spec, Measured]]


def compare(question: Question, jobs: int, say: Say) -> None:
    """Tunes, trains, and writes tables, figures and the report.

    Finished runs are not repeated, and interrupted runs are resumed.

    Args:
        question: as `question.check` returns it.
        jobs: number of runs at the same time.
        say: receives each line of progress.

    Raises:
        UsageError: a network cannot be built or trained with the config.
        DataError: the data set is missing.
        ResourceError: a training process died.
        Interrupted: a signal stopped the runs; they are saved.
    """
    plan = Plan(
        *("full", None, question.output / "runs"),
        data_dir=question.data_dir,
        module=question.module,
    )
    first = [_spec(question, name, 1.0, 0) for name in question.activations]
    path = question.output / "step_times.json"
    costs = estimate.measure(first, plan, jobs, path)

    def find(specs: Sequence[Spec]) -> dict[Spec, Measured]:
        return {x: found for x in specs if (found := spec.finished(x, plan))}

    done = find(planned(question)) | tune(question, find)
    finished = collections.Counter(each.activation for each in done)
    say(estimate.text(costs, question.tune, question.seeds, jobs, finished))
    are_short = all(cost.run < _SHORT_RUN for cost in costs)
    per_process = _RUNS_PER_PROCESS if are_short else runner.RUNS_PER_PROCESS

    def train(specs: Sequence[Spec]) -> dict[Spec, Measured]:
        return _train(specs, plan, (jobs, per_process), say)

    runs = tune(question, train) | train(planned(question))
    choices = choose(question, runs)
    for name, choice in choices.items():
        if question.tune > 1:
            say(f"{name}: {tables.choice_text(choice)}")
    runs |= train(planned_at_best(question, choices))
    by_name = {cost.activation: cost for cost in costs}
    answer = Answer(question, runs, choices, by_name)
    tables.write(answer, question.output)
    drawing.draw(answer, question.output)
    report.write(answer, question.output)
    say(report.conclusions(answer))
    say(f"{question.output / report.NAME}")


def tune(question: Question, train: Train) -> dict[Spec, Measured]:
    """Makes equally many tuning runs of each activation, and returns their results.

    Args:
        question: the comparison.
        train: returns the results of runs. If it leaves out runs that it did not find,
            the search stops there.
    """
    runs: dict[Spec, Measured] = {}
    if question.tune == 1:
        return runs

    def tried(name: str) -> dict[float, list[float]]:
        return Answer(question, runs, {}, {}).tried(name)

    for _ in range(question.tune):
        factors = [
            (name, tuning.next_factor(tried(name))) for name in question.activations
        ]
        runs |= train([_spec(question, *each, TUNING_SEED) for each in factors])
    return runs | train(
        [
            _spec(question, name, factor, TUNING_SEED + seed)
            for name in question.activations
            for factor in tuning.best(tried(name))[: tuning.REPEATED]
            for seed in range(1, 1 + tuning.FURTHER_SEEDS)
        ]
    )


def planned(question: Question) -> list[Spec]:
    """Returns the specs of paired runs at the config's rates, pair by pair."""
    return [
        _spec(question, name, 1.0, seed)
        for seed in range(question.seeds)
        for name in question.activations
    ]


def planned_at_best(question: Question, choices: Mapping[str, Choice]) -> list[Spec]:
    """Returns the specs of paired runs at best rates that are not the config's."""
    return [
        _spec(question, name, choices[name].factor, seed)
        for seed in range(question.seeds)
        for name in question.activations
        if choices[name].factor not in (None, 1.0)
    ]


def choose(question: Question, runs: Runs) -> dict[str, Choice]:
    """Returns the choice of each activation; without tuning, the config's rate."""
    if question.tune == 1:
        return dict.fromkeys(question.activations, Choice(1.0, False, 0, 0))
    answer = Answer(question, runs, {}, {})
    return {name: tuning.choose(answer.tried(name)) for name in question.activations}


def _spec(question: Question, name: str, factor: float, seed: int) -> Spec:
    return Spec(question, name, factor, seed, spec.code_hash(question, name))


def _train(
    specs: Sequence[Spec], plan: Plan, processes: tuple[int, int], say: Say
) -> dict[Spec, Measured]:
    """Trains the runs that are not finished, and returns the results of all runs.

    `processes` is the number of simultaneous processes, and of runs in each process.
    """
    results = {each: spec.finished(each, plan) for each in specs}
    missing = [each for each, measured in results.items() if measured is None]
    trained = runner.run(missing, plan, spec.measure, *processes)
    for i, (each, rows) in enumerate(trained, 1):
        results[each] = Measured(diverged=rows) if isinstance(rows, str) else rows[0]
        end = " diverged" if isinstance(rows, str) else f", error {rows[0].error:.4g}"
        say(f"{i} of {len(missing)}: {each.label}{end}")
    return results
