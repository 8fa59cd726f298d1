"""Figures have the expected files and labels, and panels have the expected values."""

import contextlib
import io
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.pairs.plots import dots, figures, histograms, palette
from elu_zoo.pairs.plots.dots import DotPanel, Dots
from elu_zoo.pairs.plots.histograms import Histograms
from elu_zoo.pairs.plots.paired_dots import PairPanel
from elu_zoo.pairs.plots.panels import Panel, Series, zoom

matplotlib = pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")
figure = pytest.importorskip("matplotlib.figure")
NAN = math.nan
X = np.arange(1.0, 41.0)


def runs(level, count=5):
    noise = np.random.default_rng(0).normal(size=(count, len(X)))
    return level + np.exp(-X / 10) * (1 + 0.1 * noise)


def panel(**changes):
    series = [
        Series("elu", X, runs(1)),
        Series("elu", X, runs(2), batch_norm=True),
        Series("my_own", X, runs(3)[:, :20], summary="quartiles", ours=True),
        Series("elu", X, runs(4), dotted=True),
        Series("relu", X, [*runs(1), *runs(5)]),
        Series("tanh", X, runs(3, 2)),
    ]
    return Panel("curves", "epoch", "loss", series, chance=5, **changes)


def dot_panel(x, **changes):
    middle = np.linspace(1, 1.1, len(x))
    every = [Dots(n, x, middle, middle - 0.1, middle + 0.1) for n in ("elu", "relu")]
    once = Dots("tanh", x, middle, [NAN] * len(x), [NAN] * len(x))
    return DotPanel("dots", "layers", "ratio", [*every, once], **changes)


PAIRS = PairPanel("pairs", "error, %", {"elu": {0: 1.0, 1: 2.0}, "my_own": {1: 3.0}})
UNITS = {"elu": [np.geomspace(1e-6, 1e-3, 50)] * 2, "relu": [np.zeros(9), np.ones(9)]}
DRAWINGS = {
    "curves": lambda stem: figures.draw(
        [[panel()], [panel(logy=True, logx=True), zoom(panel(), 5, 9, "start")]],
        stem,
        note="a note",
    ),
    "pairs": lambda stem: figures.paired([PAIRS], stem),
    "functions": lambda stem: figures.functions({"elu": (X, X, X), "my_own": (X, -X, X)}, stem),
    "distributions": lambda stem: figures.distributions(
        [Histograms("a", "changes", UNITS), Histograms("b", "medians", UNITS, (-6, 1))], stem
    ),
    "numbers": lambda stem: figures.bars(
        [dot_panel([2, 4, 8], logx=True), dot_panel(range(10))], stem
    ),
    "names": lambda stem: figures.bars(
        [dot_panel(["mlp", "conv"], references={"the paper": 1.058})] * 2, stem
    ),
}
# drawing: {word: number of occurrences}. The legend has each label once.
WORDS = {
    "curves": {"ELU": 1, "ELU + BN": 1, "my_own (ours)": 1, "validation": 1,
               "start": 1, "ReLU": 1, "tanh": 1, "chance": 1, "a note": 1},
    "functions": {"ELU": 1, "my_own": 1, "f\N{PRIME}(x)": 1},
    "distributions": {"ELU": 1, "ReLU": 1, "a, hidden layer 1": 1, "medians": 1,
                      "hidden layer 2": 2, "0": 4, "number of units": 1},
    "numbers": {"ELU": 1, "tanh": 1, "layers": 2, "8": 2},
    "pairs": {"ELU": 1, "my_own": 1, "pairs": 1, "error, %": 1},
    "names": {"ELU": 1, "tanh": 1, "mlp": 1, "the paper": 1},
}  # fmt: skip


@pytest.mark.parametrize("kind", DRAWINGS)
def test_a_drawing_is_written_as_png_and_svg(kind, tmp_path):
    DRAWINGS[kind](tmp_path / "new" / "lr0.01")
    assert len(list(tmp_path.rglob("*.*"))) == 2
    png = (tmp_path / "new" / "lr0.01.png").read_bytes()
    svg = (tmp_path / "new" / "lr0.01.svg").read_bytes()
    picture = Image.open(io.BytesIO(png))
    assert picture.format == "PNG" and picture.width == 1200 and len(png) < 300_000
    assert b"<svg" in svg[:400] and svg.count(b"date>") == 0
    written = {word: svg.count(f"<!-- {word} -->".encode()) for word in WORDS[kind]}
    assert written == WORDS[kind]


def test_files_do_not_depend_on_the_users_matplotlib_style(tmp_path):
    DRAWINGS["names"](tmp_path / "one")
    settings = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 20}):
        DRAWINGS["names"](tmp_path / "two")
    assert dict(matplotlib.rcParams) == settings
    for suffix in ".png", ".svg":
        first = (tmp_path / "one").with_suffix(suffix).read_bytes()
        assert first == (tmp_path / "two").with_suffix(suffix).read_bytes()


def test_dots_are_centred_on_their_name():
    def at(activation, *names):
        return Dots(activation, names, *([[0.0] * len(names)] * 3))

    panel = DotPanel("", "", "", [at("elu", "a", "b"), at("relu", "b"), at("tanh", "c")])
    axes = figure.Figure().subplots()
    dots.plot(axes, panel, palette.looks(["elu", "relu", "tanh"]))
    (a, b), (other,), (c,) = (bar.lines[0].get_ydata() for bar in axes.containers)
    assert (a, c) == (0, 2) and b < 1 < other and b + other == pytest.approx(2)


@pytest.mark.parametrize("logx", [False, True])
def test_dots_stand_on_their_number(logx):
    every = [Dots(n, [1, 4], [5.0, 7.0], [4.0, 7.0], [8.0, 7.0]) for n in ("elu", "relu")]
    axes = figure.Figure().subplots()
    panel = DotPanel("", "", "", every, logx=logx)
    dots.plot(axes, panel, palette.looks(["elu", "relu"]))
    drawn = [line.get_xdata().tolist() for line in axes.lines if len(line.get_xdata())]
    assert [x for x in drawn if x == [1, 4]] == [[1, 4]] * 2
    (one, none), (other, _) = (c.lines[2][0].get_segments() for c in axes.containers)
    assert one[0][0] < 1 < other[0][0] and np.isnan(none).all()  # without an interval


def test_error_bars_end_at_the_interval():
    axes = figure.Figure().subplots()
    with_nan = Dots("elu", [1, 2], [5.0, 7.0], [4.0, NAN], [8.0, NAN])
    panel = DotPanel("", "", "", [with_nan], ylim=(3, 6))
    dots.plot(axes, panel, palette.looks(["elu"]))
    assert axes.get_ylim() == (3, 6)
    first = axes.containers[0].lines[2][0].get_segments()[0]
    assert first[:, 1].tolist() == [4, 8]


def test_panels_share_the_y_axis_and_rows_fill_the_width(monkeypatch):
    drawn = figure.Figure()
    monkeypatch.setattr(figures.sheet, "sheet", lambda *_: contextlib.nullcontext(drawn))
    low, high = (Panel("", "", "loss", [Series("elu", X, runs(level))]) for level in (1, 9))
    figures.draw([[low, high], [low, low, low]], Path("a"), share_y=True)
    assert len({axes.get_ylim() for axes in drawn.axes}) == 1
    assert drawn.axes[0].get_ylim()[1] > 9
    assert [axes.get_ylabel() for axes in drawn.axes] == ["loss", "", "loss", "", ""]
    columns = [axes.get_subplotspec().colspan for axes in drawn.axes]
    assert [(c.start, c.stop) for c in columns] == [
        (0, 3),
        (3, 6),
        (0, 2),
        (2, 4),
        (4, 6),
    ]


@pytest.mark.parametrize(
    ("values", "decades", "counts"),
    [
        ([0, 0, 1e-7, 5e-5, 2e-3, 0.5], (-6, -2), [2, 1, 1, 0, 2]),
        ([0, 0, 5e-5, 2e-3], None, [2, 1, 0, 1]),  # decades -5 to -2
        ([0, 0], None, [2, 0]),
        ([0.5] * 4, None, [0, 4]),
    ],
)
def test_histograms_count_zeros_and_values_beyond_the_axis(values, decades, counts):
    values = np.array(values)
    axis = histograms.axis([values], decades)
    zeros, _, *others = np.histogram(axis.places(values), axis.edges)[0]
    found = np.reshape(others, (-1, 8)).sum(axis=1)
    assert [zeros, *found] == counts


def test_the_error_without_matplotlib_has_the_command_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.UsageError, match=r"pip install \"elu-zoo\[paper\]\""):
        DRAWINGS["pairs"](tmp_path / "a")
