"""Experiment: its runs, measures, figure, table and claims."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from elu_zoo.paper.grouping import Rows
from elu_zoo.paper.judging import Claim
from elu_zoo.paper.run.spec import Plan, Trial


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one that tests a claim of the paper.

    `draw`, `summary` and the claims are given the rows of the experiment and of those
    in `reads`.

    Attributes:
        title: of the section in the report.
        section: of the paper.
        draw: draws the figure to a path without suffix; None for no figure.
        summary: returns the results as a Markdown table.
        trials: runs by plan; None for an experiment without training.
        measure: returns the rows of a finished run; a module's function, which can be
            pickled.
        compute: returns the rows of an experiment without training.
        columns: of the rows.
        compares: titles by column; lower values are better. The report tests their
            final values in pairs of runs.
        tested: selects the rows of those pairs; None for all rows.
        reads: names of other experiments whose rows are needed.
        covers: returns whether rows of a budget are enough for a plan, so that
            `compute` is not called again; None: it is called each time.
        shows_divergence: whether rows of runs that diverged are kept; they have no
            values but `diverged`.
        claims: claims of the paper that the experiment tests.
        paper_epochs: length of the paper's runs; 0 for an experiment without training.
        own_schedules: budgets whose optimizer or learning rates are ours and not the
            paper's: their runs decide no claim.
        note: what the paper leaves open, and what was chosen.
    """

    title: str
    section: str
    draw: Callable[[Rows, Path], None] | None
    summary: Callable[[Rows], str]
    trials: Callable[[Plan], list[Trial]] | None = None
    measure: Callable[[Trial, Path, Plan], list[dict]] | None = None
    compute: Callable[[Plan], list[dict]] | None = None
    columns: tuple[str, ...] = ()
    compares: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tested: Callable[[Rows], Rows] | None = None
    reads: tuple[str, ...] = ()
    covers: Callable[[Plan, Rows], bool] | None = None
    shows_divergence: bool = False
    claims: tuple[Claim, ...] = ()
    paper_epochs: int = 0
    own_schedules: tuple[str, ...] = ()
    note: str = ""
