"""Stored rows from which a figure, a table and claims of the report are made."""

import dataclasses
import functools
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from elu_zoo.pairs import grouping
from elu_zoo.pairs.grouping import Arm, Rows
from elu_zoo.pairs.spec import BUDGETS
from elu_zoo.pairs.store import Points
from elu_zoo.paper.experiments import EXPERIMENTS

FIGURES = "figures"
_ENOUGH_SEEDS = 5


class Run(NamedTuple):
    """A run of an experiment."""

    experiment: str
    arm: Arm
    seed: str

    def __str__(self) -> str:
        activation, batch_norm, variant = self.arm
        parts = activation + " with BN" * batch_norm, variant, f"seed {self.seed}"
        return f"{self.experiment}: {', '.join(filter(None, parts))}"


@dataclasses.dataclass(frozen=True)
class View:
    """Rows of an experiment and of the experiments that it reads, of one budget.

    Attributes:
        diverged: the runs that diverged and are left out.
        longer: rows of a longer, unfinished budget.
    """

    budget: str
    rows: Rows
    diverged: tuple[Run, ...] = ()
    longer: "View | None" = None

    @functools.cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a frame."""
        return grouping.frame(self.rows)

    @functools.cached_property
    def judged(self) -> "View":
        """The rows of claims: with those of `longer` whose variants are not in `rows`.

        Runs of two lengths in one variant would be pairs that differ in their length.
        """
        known = {row.get("variant", "") for row in self.rows}
        longer = self.longer.rows if self.longer else []
        more = [row for row in longer if row.get("variant", "") not in known]
        budget = self.longer.budget if more else self.budget
        diverged = *self.diverged, *(self.longer.diverged if more else ())
        return View(budget, self.rows + more, diverged)


def view(name: str, output: Path) -> View | None:
    """Returns the rows of an experiment that the report shows.

    These are the rows of the longest budget with five seeds that are in pairs, or else of the
    budget with the most, and of smoke runs if there are no others. None if the experiment, or
    the first one that it reads, has no rows, or only of diverged runs.
    """
    best, most = None, (False, -1, 0)
    for length, budget in enumerate(BUDGETS, 1):
        rows = {need: points(need, output).of_budget(budget) for need in needs(name)}
        found = _without_diverged(budget, rows) if rows[needs(name)[0]] else None
        if not found:
            continue
        seeds = [
            _seeds_of_pairs(own) for need, own in rows.items() if EXPERIMENTS[need].trials and own
        ]
        rank = budget != "smoke", min([_ENOUGH_SEEDS, *seeds]), length
        if rank > most:
            best, most = found, rank
    return best and dataclasses.replace(best, longer=_longer(name, best, output))


def _seeds_of_pairs(rows: Rows) -> int:
    """Returns the number of seeds with runs of at least two activations."""
    runs = {(row["seed"], row["activation"], row["batch_norm"]) for row in rows}
    return sum(n > 1 for n in Counter(seed for seed, *_ in runs).values())


def _longer(name: str, shown: View, output: Path) -> View | None:
    """Returns the rows of the longest budget, if it is longer than that of `shown`."""
    if EXPERIMENTS[name].reads:
        return None
    for budget in reversed(BUDGETS[BUDGETS.index(shown.budget) + 1 :]):
        own = points(name, output).of_budget(budget)
        if own and (found := _without_diverged(budget, {name: own})):
            return found
    return None


def _without_diverged(budget: str, rows: dict[str, Rows]) -> View | None:
    shown, diverged = [], dict[Run, None]()
    for name, own in rows.items():
        ended = []
        for row in own:
            if row.get("diverged") and not EXPERIMENTS[name].shows_divergence:
                arm = Arm(row["activation"], row["batch_norm"] == "True", row["variant"])
                diverged[Run(name, arm, row["seed"])] = None
            else:
                ended.append(row)
        if own and not ended:
            return None
        shown += ended
    return View(budget, shown, tuple(diverged))


def epochs(view: View) -> list[int]:
    """Returns the different lengths of the runs in epochs, the shortest first.

    Runs of a variant count only if all runs have a variant.
    """
    plain = [row for row in view.rows if not row.get("variant")]
    lengths = {row.get("epochs", "") for row in plain or view.rows} - {""}
    return sorted(map(int, lengths))


def schedule(name: str, view: View | None) -> str:
    """Returns the length of the runs as text, "" if there are no runs."""
    experiment = EXPERIMENTS[name]
    if not view or not epochs(view):
        return ""
    text = " or ".join(map(str, epochs(view)))
    if experiment.paper_epochs:
        whose = f"{experiment.schedule_of}'s " * bool(experiment.schedule_of)
        text = f"{min(epochs(view))} of {whose}{experiment.paper_epochs}"
    return f"{text} epochs"


def schedule_share(name: str, view: View | None) -> float:
    """Returns the length of the runs divided by the paper's; 0 if they decide nothing."""
    if not view or view.budget == "smoke":
        return 0.0
    whole = EXPERIMENTS[name].paper_epochs
    return min(epochs(view)) / whole if whole else 1.0


def points(name: str, output: Path) -> Points:
    """Returns the results store of an experiment."""
    experiment = EXPERIMENTS[name]
    path = output / FIGURES / f"{name}.csv"
    if experiment.compute:
        return Points(path, experiment.columns, ("budget",))
    return Points(path, (*experiment.columns, "diverged"))


def needs(name: str) -> tuple[str, ...]:
    """Returns the names of the experiments whose rows an experiment's figure shows."""
    return (name, *EXPERIMENTS[name].reads)
