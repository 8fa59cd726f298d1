"""A fixture that keeps figures from being saved."""

import contextlib

import pytest

from elu_zoo.pairs import plots


@pytest.fixture
def drawn(monkeypatch):
    """Returns {name: rows of axes} of the figures that the test draws; none is saved."""
    figure = pytest.importorskip("matplotlib.figure")
    figures = {}

    @contextlib.contextmanager
    def unsaved(stem, layout, height):
        grid = figure.Figure((8, height)).subplots(len(layout), max(layout), squeeze=False)
        figures[stem.name] = [list(row[:count]) for row, count in zip(grid, layout, strict=True)]
        yield figures[stem.name]

    monkeypatch.setattr(plots, "figure", unsaved)
    return figures
