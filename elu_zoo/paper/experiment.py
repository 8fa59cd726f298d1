"""The class of experiments, which have runs, measures, a figure, a table and claims."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or an experiment that tests a claim of the paper.

    `draw`, `summary` and the claims receive the rows of the experiment together with
    the rows of the experiments in `reads`.

    Attributes:
        section: section of the paper.
        draw: draws the figure to a path without suffix; None if there is no figure.
        data: what decides its claims, as text after "by".
        summary: returns the results as a Markdown table; None if the figure and the
            claims have them.
        trials: returns the specs of a plan's runs; None if nothing is trained.
        measure: returns the rows of a finished run; a function of a module, because it
            is pickled for the worker processes.
        compute: returns the rows of an experiment that trains nothing.
        computed_once: whether `compute` is called only for a budget without rows.
        classes: number of classes; 0 if claims also use runs at chance.
        shows_divergence: whether rows of diverged runs, without a value, are shown.
        paper_epochs: length of the paper's runs in epochs; 0 if nothing is trained.
        schedule_of: source of `paper_epochs`, if not the paper's own experiment.
        note: what the paper leaves open, and what this experiment does instead.
    """

    title: str
    section: str
    draw: Callable[[pd.DataFrame, Path], None] | None
    data: str = ""
    summary: Callable[[pd.DataFrame], str] | None = None
    trials: Callable[[Plan], list[Trial]] | None = None
    measure: Callable[[Trial, Path, Plan], list[dict]] | None = None
    compute: Callable[[Plan], list[dict]] | None = None
    columns: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    computed_once: bool = False
    classes: int = 0
    shows_divergence: bool = False
    claims: tuple[Claim, ...] = ()
    paper_epochs: int = 0
    schedule_of: str = ""
    note: str = ""
