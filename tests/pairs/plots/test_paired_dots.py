"""Panels of paired runs have a dot for each run and a line for each seed."""

import pytest

from elu_zoo.pairs.plots import paired_dots, palette
from elu_zoo.pairs.plots.paired_dots import PairPanel

figure = pytest.importorskip("matplotlib.figure")

RUNS = {"elu": {0: 1.0, 3: 2.0}, "relu": {3: 4.0, 0: 3.0}, "tanh": {3: 5.0}}


@pytest.fixture
def axes():
    axes = figure.Figure().subplots()
    paired_dots.plot(axes, PairPanel("", "", RUNS), palette.looks(RUNS))
    return axes


def test_a_line_joins_the_runs_of_a_seed(axes):
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    assert [list(line.get_ydata()) for line in lines] == [[1, 3], [2, 4, 5]]


def test_dots_lie_on_the_lines_of_their_seeds(axes):
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    dots = [line for line in axes.lines if line.get_linestyle() == "None"]
    ends = sorted(tuple(xy) for line in lines for xy in line.get_xydata())
    assert sorted(tuple(xy) for line in dots for xy in line.get_xydata()) == ends
    assert len({x for x, _ in ends}) == len(ends)  # no dot hides another


def test_bars_mark_the_means_of_several_runs(axes):
    levels = [line.get_segments()[0][0][1] for line in axes.collections]
    assert levels == [1.5, 3.5]
