"""Runs experiments, draws their figures, and writes the claims and the report."""

from collections.abc import Callable, Sequence
from pathlib import Path

from elu_zoo import errors, files, results
from elu_zoo.pairs import runner
from elu_zoo.pairs.spec import BUDGETS, Plan, Trial
from elu_zoo.paper import claim_tables, report
from elu_zoo.paper.experiments import EXPERIMENTS, chosen
from elu_zoo.paper.views import FIGURES, needs, points, view
from elu_zoo.training import result

# Two rows of results.csv with equal values in these columns are the same run.
_SAME = "config", "activation", "batch_norm", "seed", "schedule", "epochs", "backend"
_Say = Callable[[str], None]


def reproduce(
    names: Sequence[str], plan: Plan, output: Path, *, jobs: int, say: _Say = print
) -> None:
    """Runs experiments (`all`: every one) and those they read; writes files to `output`.

    A run whose rows are in the experiment's CSV file is not trained again.
    """
    files.check_writable(output)
    names = chosen(names)
    for name in EXPERIMENTS:  # the report reads the files of all experiments
        points(name, output).check()
    for row in results.read_file(output / "results.csv")[:1]:
        if lacking := sorted({*_SAME, "sha256"} - row.keys()):
            raise errors.DataError(
                f"{output / 'results.csv'} lacks the columns {', '.join(lacking)}. Move the file "
                "away, or set another --output."
            )
    left_out = []
    for name in names:
        experiment = EXPERIMENTS[name]
        say(f"{name}: {experiment.title}")
        try:
            if experiment.compute:
                _compute(name, plan, output)
            elif experiment.trials:
                _train(name, plan, output, jobs, say)
        except (errors.DataError, errors.UsageError, errors.ResourceError) as error:
            # The workers of the next experiment would die for the same reason.
            workers_die = experiment.trials and isinstance(error, errors.ResourceError)
            if len(names) == 1 or workers_die:
                raise
            left_out.append(name)
            say(f"{name}: left out. {error}")
        for each in EXPERIMENTS:
            if name in needs(each):
                draw(each, output)
        write_report(output)
    say(f"{output / report.NAME}")
    if left_out:
        raise errors.DataError(
            "These experiments were left out, for the reasons printed above: "
            f"{', '.join(left_out)}."
        )


def _compute(name: str, plan: Plan, output: Path) -> None:
    experiment, stored = EXPERIMENTS[name], points(name, output)
    if not (experiment.computed_once and stored.of_budget(plan.budget)):
        stored.put_all(plan.budget, experiment.compute(plan))


def _train(name: str, plan: Plan, output: Path, jobs: int, say: _Say) -> None:
    experiment, stored = EXPERIMENTS[name], points(name, output)
    trials = experiment.trials(plan)
    missing = [trial for trial in trials if not stored.has(trial)]
    say(f"{name}: {len(trials)} runs, {len(missing)} to train")
    if missing:
        files.check_writable(plan.workdir)
    finished = runner.run(missing, plan, experiment.measure, jobs)
    for i, (trial, rows) in enumerate(finished, 1):
        progress = f"{name}: {i} of {len(missing)}, {trial.label}"
        if isinstance(rows, str):
            stored.put(trial, [{"diverged": rows}])
            say(f"{progress} diverged: {rows}")
        else:
            _add_result(trial, plan, output)
            stored.put(trial, rows)
            say(progress)


def _add_result(trial: Trial, plan: Plan, output: Path) -> None:
    """Adds a run to results.csv, unless the file has a run of this config and seed."""
    if plan.smoke:
        return
    workdir = trial.folder(plan)
    row = results.row(workdir, result.find(workdir))
    path = output / "results.csv"
    stored = results.read_file(path)
    if not any(all(old[key] == str(row[key]) for key in _SAME) for old in stored):
        results.add(path, row)


def draw(name: str, output: Path) -> None:
    """Draws the figures of an experiment, if the experiment has a figure and rows."""
    experiment, shown = EXPERIMENTS[name], view(name, output)
    if not (experiment.draw and shown):
        return
    experiment.draw(shown.frame, output / FIGURES / name)
    for budget in BUDGETS:
        stem = output / FIGURES / f"{name}_{budget}"
        if shown.longer and shown.longer.budget == budget:
            experiment.draw(shown.longer.frame, stem)
        else:  # perhaps drawn before the budget had enough seeds
            for suffix in ".png", ".svg":
                stem.with_suffix(suffix).unlink(missing_ok=True)


def write_report(output: Path) -> None:
    """Writes claims.csv, claim_tests.csv and reproduction.md from the stored rows."""
    views = {name: shown for name in EXPERIMENTS if (shown := view(name, output))}
    judged = claim_tables.judge(views)
    claim_tables.write(output, judged)
    files.write_bytes(output / report.NAME, report.text(views, judged).encode())
