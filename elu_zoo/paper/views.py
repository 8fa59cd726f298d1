"""Which of the measured points a figure, a table and a claim are made from."""

import dataclasses
from pathlib import Path

from elu_zoo.paper.experiment import Rows
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.run.spec import BUDGETS
from elu_zoo.paper.run.store import Points

FIGURES = "figures"
_ENOUGH = 5  # seeds


@dataclasses.dataclass(frozen=True)
class View:
    """The points that an experiment's figure, numbers and claims are made from.

    Attributes:
        budget: the same of all of them.
        rows: of the experiment and of those that it reads, by name.
        diverged: runs that are left out, in words.
    """

    budget: str
    rows: dict[str, Rows]
    diverged: tuple[str, ...] = ()


def view(name: str, output: Path) -> View | None:
    """Returns the points of an experiment, None where some are missing.

    They are those of the longest budget with five seeds, or else of that with the most.
    """
    every = {need: points(need, output) for need in needs(name)}
    best, most = None, (0, 0)
    for length, budget in enumerate(BUDGETS, 1):
        rows = {need: found.of_budget(budget) for need, found in every.items()}
        if not all(rows.values()):
            continue
        seeds = [
            len({row["seed"] for row in own})
            for need, own in rows.items()
            if EXPERIMENTS[need].trials
        ]
        found = min([_ENOUGH, *seeds]), length
        if found > most:
            best, most = (budget, rows), found
    if best is None:
        return None
    budget, rows = best
    shown, gone = {}, {}
    for need, own in rows.items():
        lost = [] if EXPERIMENTS[need].shows_divergence else _diverged(own)
        shown[need] = [row for row in own if row not in lost]
        for row in lost:
            gone[f"{need}: {row['activation']}, seed {row['seed']}"] = None
    if not all(shown.values()):
        return None
    return View(budget, shown, tuple(gone))


def _diverged(rows: Rows) -> Rows:
    return [row for row in rows if row.get("diverged")]


def points(name: str, output: Path) -> Points:
    """Returns an experiment's measured points."""
    experiment = EXPERIMENTS[name]
    path = output / FIGURES / f"{name}.csv"
    if experiment.compute:
        return Points(path, experiment.columns, ("budget",))
    return Points(path, (*experiment.columns, "diverged"))


def needs(name: str) -> tuple[str, ...]:
    """Returns the experiments whose points a figure shows."""
    experiment = EXPERIMENTS[name]
    own = (name,) if experiment.columns else ()
    return (*own, *experiment.reads)
