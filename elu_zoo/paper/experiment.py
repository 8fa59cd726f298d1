"""What an experiment is: its runs, what is measured of each, how it is drawn."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from elu_zoo.paper.run.spec import Plan, Trial

Rows = list[dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one about a claim of it.

    Attributes:
        title: for people.
        section: of the paper.
        trials: its runs by plan; none for what needs no training.
        measure: rows of a finished run; a function of a module, so that a process can
            be given it.
        compute: rows of an experiment without runs.
        columns: of those rows; those of runs have `diverged` beside them.
        draw: draws the figure from the rows of this and of the experiments in
            `reads`, by name; the path is without a suffix. None for no figure.
        summary: returns what was found, in Markdown, from the same rows.
        compares: titles of columns, lower is better, whose last values the report
            tests in pairs of runs.
        tested: returns the rows of the runs that may be in such a pair; None for all.
        reads: other experiments whose rows it needs.
        shows_divergence: whether it is given runs that diverged, as rows of which all
            but `diverged` is empty; of other experiments they are left out.
        covers: whether rows of a budget, one or more, have what a plan asks for:
            `compute`, which takes long, is not called again. None: it is, each time.
        note: where the paper contradicts itself or leaves open what had to be chosen.
    """

    title: str
    section: str
    draw: Callable[[Mapping[str, Rows], Path], None] | None
    summary: Callable[[Mapping[str, Rows]], str]
    trials: Callable[[Plan], list[Trial]] | None = None
    measure: Callable[[Trial, Path, Plan], list[dict]] | None = None
    compute: Callable[[Plan], list[dict]] | None = None
    columns: tuple[str, ...] = ()
    compares: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tested: Callable[[Rows], Rows] | None = None
    reads: tuple[str, ...] = ()
    covers: Callable[[Plan, Rows], bool] | None = None
    shows_divergence: bool = False
    note: str = ""
