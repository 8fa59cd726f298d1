"""Runs experiments and writes what they found: CSV, figures, claims, report."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from elu_zoo import errors, files, results
from elu_zoo.paper import claims, report
from elu_zoo.paper.experiments import EXPERIMENTS, chosen
from elu_zoo.paper.run import runner
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.paper.run.store import Points
from elu_zoo.paper.views import FIGURES, points, view
from elu_zoo.training import result


def check(names: Sequence[str], output: Path) -> list[str]:
    """Checks what can be before any work, and returns the experiments to run.

    Raises:
        UsageError: an unknown name, or scipy or matplotlib are not installed.
        ResourceError: the folder cannot be written.
    """
    names = chosen(names)
    for package in ("scipy", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise errors.UsageError(
                f'Experiments need {package}: pip install "elu-zoo[paper]"'
            )
    files.check_writable(output)
    return names


def reproduce(
    names: Sequence[str],
    plan: Plan,
    output: Path,
    *,
    jobs: int,
    say: Callable[[str], None] = print,
) -> None:
    """Runs experiments, those that they read first.

    A run whose points are in the experiment's CSV file is not trained again, even
    where its folder is gone.

    Args:
        names: as `check` returns them.
        plan: what is asked for.
        output: gets `figures/<experiment>.csv`, `.png` and `.svg`, `results.csv`,
            `claims.csv` and `reproduction.md`.
        jobs: runs at once.
        say: is told what goes on, a line at a time.

    Raises:
        DataError: experiments were left out, for want of data, because they do not
            take what is asked for or could not be computed; the others are done. Or a
            file of points is not of this version.
        ResourceError: processes that train die.
    """
    for name in EXPERIMENTS:  # the report is made from all of them
        if EXPERIMENTS[name].columns:
            points(name, output).check()
    left_out = []
    for name in names:
        say(f"{name}: {EXPERIMENTS[name].title}")
        try:
            _measure(name, plan, output, jobs, say)
        except (errors.DataError, errors.UsageError, errors.ResourceError) as error:
            # Where processes that train die, those of the next experiment would too.
            trains = bool(EXPERIMENTS[name].trials)
            if len(names) == 1 or (trains and isinstance(error, errors.ResourceError)):
                raise
            left_out.append(name)
            say(f"{name}: left out. {error}")
        draw(name, output)
        write_report(output)
    say(f"{output / report.NAME}")
    if left_out:
        raise errors.DataError(f"Left out, as said above: {', '.join(left_out)}.")


def _measure(
    name: str,
    plan: Plan,
    output: Path,
    jobs: int,
    say: Callable[[str], None],
) -> None:
    experiment, found = EXPERIMENTS[name], points(name, output)
    if experiment.compute:
        known = found.of_budget(plan.budget)
        if not (known and experiment.covers and experiment.covers(plan, known)):
            computed = experiment.compute(plan)
            units = {row.get("activation") for row in computed}
            others = [row for row in known if row.get("activation") not in units]
            kept = others if experiment.covers else []
            found.put_all(plan.budget, [*kept, *computed])
    elif experiment.trials:
        _train(name, found, plan, output, jobs, say)


def _train(
    name: str,
    found: Points,
    plan: Plan,
    output: Path,
    jobs: int,
    say: Callable[[str], None],
) -> None:
    experiment = EXPERIMENTS[name]
    trials = experiment.trials(plan)
    missing = [trial for trial in trials if not found.has(trial)]
    say(f"{name}: {len(trials)} runs, {len(missing)} to go, {jobs} at once")
    for i, (trial, rows) in enumerate(
        runner.run(missing, plan, experiment.measure, jobs), 1
    ):
        if isinstance(rows, str):
            found.put(trial, [{"diverged": rows}])
            say(f"{name}: {i} of {len(missing)}, {trial.label} diverged: {rows}")
            continue
        _add_result(trial, plan, output)
        found.put(trial, rows)
        say(f"{name}: {i} of {len(missing)}, {trial.label}")


def _add_result(trial: Trial, plan: Plan, output: Path) -> None:
    """Adds a run to the results, unless one of its config is there."""
    if plan.smoke:
        return
    workdir = trial.folder(plan)
    row = results.row(workdir, result.find(workdir))
    path = output / "results.csv"
    same = "config", "activation", "batch_norm", "seed", "schedule", "epochs", "backend"
    known = results.read_file(path)
    if not any(all(old[key] == str(row[key]) for key in same) for old in known):
        results.add(path, row)


def draw(name: str, output: Path) -> None:
    """Draws an experiment's figure, where it has one and points for it."""
    experiment, found = EXPERIMENTS[name], view(name, output)
    if experiment.draw and found:
        experiment.draw(found.rows, output / FIGURES / name)


def write_report(output: Path) -> None:
    """Writes claims.csv and reproduction.md from the points that there are."""
    views = {name: view(name, output) for name in EXPERIMENTS}
    views = {name: found for name, found in views.items() if found}
    found = claims.judged(views)
    claims.write(output / "claims.csv", found, views)
    text = report.text(views, found)
    files.write_bytes(output / report.NAME, text.encode())
