"""Paired runs: a dot each, a line a seed, a mean where there are several."""

import math

import pytest

from elu_zoo import errors
from elu_zoo.paper.plots import figures, paired_dots, palette
from elu_zoo.paper.plots.paired_dots import PairPanel

figure = pytest.importorskip("matplotlib.figure")

RUNS = {"elu": {0: 1.0, 3: 2.0}, "relu": {3: 4.0, 0: 3.0}, "tanh": {3: 5.0}}


@pytest.fixture
def axes():
    axes = figure.Figure().subplots()
    paired_dots.plot(axes, PairPanel("", "", RUNS), palette.looks(RUNS))
    return axes


def test_a_line_joins_the_runs_of_a_seed(axes):
    joined = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert [list(line.get_ydata()) for line in joined] == [[1, 3], [2, 4, 5]]


def test_dots_lie_on_the_lines_of_their_seeds(axes):
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    dots = [line for line in axes.lines if line.get_linestyle() == "None"]
    ends = sorted(tuple(xy) for line in lines for xy in line.get_xydata())
    assert sorted(tuple(xy) for line in dots for xy in line.get_xydata()) == ends
    assert len({x for x, _ in ends}) == len(ends)  # none hides another


def test_means_of_several_runs(axes):
    levels = [line.get_segments()[0][0][1] for line in axes.collections]
    assert levels == [1.5, 3.5]


@pytest.mark.parametrize(
    "runs", [{}, {"elu": {}}, {"elu": {0: 1.0}, "relu": {0: math.nan}}]
)
def test_panels_that_cannot_be_drawn(runs, tmp_path):
    with pytest.raises(errors.UsageError, match="'one' needs a finite number, or more"):
        figures.paired([PairPanel("one", "", runs)], tmp_path / "wrong")
    assert not list(tmp_path.iterdir())


def test_a_figure_without_panels(tmp_path):
    with pytest.raises(errors.UsageError, match="needs a panel"):
        figures.paired([], tmp_path / "wrong")
