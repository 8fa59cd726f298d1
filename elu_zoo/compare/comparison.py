"""Comparison: tunes each activation equally, makes paired runs, writes the results."""

import collections
from collections.abc import Callable, Mapping, Sequence

from elu_zoo.compare import drawing, estimate, report, spec, tables, tuning
from elu_zoo.compare.answer import Answer, Runs
from elu_zoo.compare.estimate import Stage
from elu_zoo.compare.question import TUNING_SEED, Question, with_images
from elu_zoo.compare.spec import Measured, Spec
from elu_zoo.compare.tuning import Choice
from elu_zoo.pairs import runner
from elu_zoo.pairs.spec import Plan

_SHORT_RUN = 60.0  # seconds
_RUNS_PER_PROCESS = 12  # of short runs, so that fewer processes must start
Say = Callable[[str], None]
# From specs and the name of a stage to the results of runs.
Train = Callable[[Sequence[Spec], str], dict[Spec, Measured]]


def compare(question: Question, jobs: int, say: Say) -> None:
    """Tunes, trains, and writes tables, figures and the report.

    Finished runs are not repeated, and interrupted runs are resumed.

    Args:
        question: as `question.check` returns it.
        jobs: number of runs at the same time.
        say: receives each line of progress.
    """
    question = with_images(question)
    plan = Plan(
        "full", None, question.output / "runs", data_dir=question.data_dir, module=question.module
    )
    first = [_spec(question, name, 1.0, 0) for name in question.activations]
    path = question.output / "step_times.json"
    costs = estimate.measure(first, plan, jobs, path)
    are_short = all(cost.run < _SHORT_RUN for cost in costs)
    processes = jobs, _RUNS_PER_PROCESS if are_short else runner.RUNS_PER_PROCESS
    say(estimate.text(costs, question, processes, *remaining(question, plan)))

    def train(specs: Sequence[Spec], stage: str) -> dict[Spec, Measured]:
        return _train(specs, plan, processes, lambda line: say(f"{stage}, {line}"))

    runs = tune(question, train)
    runs |= train(planned(question), "at the config's rates")
    choices = choose(question, runs)
    for name, choice in choices.items():
        if question.tune > 1:
            say(f"{name}: {tables.choice_text(choice)}")
    runs |= train(planned_at_best(question, choices), "at the best rates")
    by_name = {cost.activation: cost for cost in costs}
    answer = Answer(question, runs, choices, by_name)
    tables.write(answer, question.output)
    drawing.draw(answer, question.output)
    report.write(answer, question.output)
    say(report.conclusions(answer))
    say(f"{question.output / report.NAME}")


def tune(question: Question, train: Train) -> dict[Spec, Measured]:
    """Makes the tuning runs, and returns their results.

    All activations have equally many tuning runs, unless every factor diverges.

    Args:
        question: the comparison.
        train: trains runs.
    """
    runs: dict[Spec, Measured] = {}
    if question.tune == 1:
        return runs
    tried = {name: {} for name in question.activations}
    for i in range(question.tune):
        factors = {name: tuning.next_factor(errors) for name, errors in tried.items()}
        specs = [_spec(question, *each, TUNING_SEED) for each in factors.items()]
        runs |= train(specs, f"tuning {i + 1} of {question.tune}")
        answer = Answer(question, runs, {}, {})
        tried = {name: answer.tried(name) for name in tried}
    specs = [
        _spec(question, name, factor, TUNING_SEED + seed)
        for name, errors in tried.items()
        for factor, seed in tuning.again(errors)
    ]
    return runs | train(specs, "tuning with further seeds")


def remaining(question: Question, plan: Plan) -> tuple[list[Stage], Stage]:
    """Returns the numbers of runs to train in each stage, and of runs to train perhaps.

    The latter are runs at best rates, which are unknown before the end of the tuning.
    A stage begins when the stage before it has ended.
    """
    missing: list[Stage] = []

    def pretend(specs: Sequence[Spec], _: str = "") -> dict[Spec, Measured]:
        found = {each: spec.finished(each, plan) for each in specs}
        missing.append(collections.Counter(x.activation for x in specs if not found[x]))
        return {each: measured or Measured(0.0) for each, measured in found.items()}

    runs = tune(question, pretend)
    is_tuned = not any(missing)
    pretend(planned(question))
    if is_tuned:
        pretend(planned_at_best(question, choose(question, runs)))
        return missing, {}
    return missing, dict.fromkeys(question.activations, question.seeds)


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
        failed = " diverged" if isinstance(rows, str) else " stayed at chance"
        found = results[each]
        end = failed if found.diverged else f", error {found.error:.4g}"
        say(f"{i} of {len(missing)}: {each.label}{end}")
    return results
