"""Which of the measured points a figure, a table and a claim are made from."""

import dataclasses
from pathlib import Path

from elu_zoo.experiments.experiment import Rows
from elu_zoo.experiments.points import KEY, Points
from elu_zoo.experiments.table import EXPERIMENTS
from elu_zoo.experiments.trial import BUDGETS

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
        seeds = [len({row.get("seed") for row in own}) for own in rows.values()]
        if not all(rows.values()):
            continue
        enough = _ENOUGH if not EXPERIMENTS[name].trials else min(seeds)
        if (min(enough, _ENOUGH), length) > most:
            best, most = (budget, rows), (min(enough, _ENOUGH), length)
    if best is None:
        return None
    budget, rows = best
    shown, gone = {}, []
    for need, own in rows.items():
        lost = [] if EXPERIMENTS[need].shows_divergence else _diverged(own)
        shown[need] = [row for row in own if row not in lost]
        gone += [f"{need}: {row['activation']}, seed {row['seed']}" for row in lost]
    if not all(shown.values()):
        return None
    return View(budget, shown, tuple(gone))


def _diverged(rows: Rows) -> Rows:
    return [row for row in rows if row.get("diverged")]


def points(name: str, output: Path) -> Points:
    """Returns an experiment's measured points."""
    experiment = EXPERIMENTS[name]
    key = ("budget",) if experiment.compute else KEY
    return Points(output / FIGURES / f"{name}.csv", experiment.columns, key)


def needs(name: str) -> tuple[str, ...]:
    """Returns the experiments whose points a figure shows."""
    experiment = EXPERIMENTS[name]
    own = (name,) if experiment.columns else ()
    return (*own, *experiment.reads)
