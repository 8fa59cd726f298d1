import io
import math

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.paper.plots import dots, figures, palette, panels, sheet
from elu_zoo.paper.plots.dots import DotPanel, Dots
from elu_zoo.paper.plots.paired_dots import PairPanel
from elu_zoo.paper.plots.panels import Panel, Series, zoom

matplotlib = pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")
NAN, INF = math.nan, math.inf
NAMES = "elu", "relu", "leaky_relu", "shifted_relu", "prelu", "rrelu", "tanh"
X = np.arange(1.0, 41.0)


def runs(level, count=3):
    noise = np.random.default_rng(0).normal(size=(count, len(X)))
    return level + np.exp(-X / 10) * (1 + 0.1 * noise)


def panel(**changes):
    series = [
        Series("elu", X, runs(1)),
        Series("elu", X, runs(2), batch_norm=True),
        Series("my_own", X, runs(3)[:, :20], summary="quartiles"),
        Series("elu", X, runs(4), dotted=True),
    ]
    return Panel("curves", "epoch", "loss", series, **changes)


def one(series, **changes):
    return Panel("one", "epoch", "loss", [series], **changes)


def dot_panel(x, **changes):
    middle = np.linspace(1, 1.1, len(x))
    every = [Dots(n, x, middle, middle - 0.1, middle + 0.1) for n in ("elu", "relu")]
    once = Dots("tanh", x, middle, [NAN] * len(x), [NAN] * len(x), label="once")
    return DotPanel("dots", "layers", "ratio", [*every, once], **changes)


PAIRS = PairPanel("pairs", "error, %", {"elu": {0: 1.0, 1: 2.0}, "my_own": {1: 3.0}})
UNITS = {"elu": [np.geomspace(1e-6, 1e-3, 50)] * 2, "relu": [np.zeros(9), np.ones(9)]}
DRAWINGS = {
    "curves": lambda stem: figures.draw(
        [[panel(), None], [panel(logy=True, logx=True), zoom(panel(), 5, 9, "start")]],
        stem,
    ),
    "pairs": lambda stem: figures.paired(
        [PAIRS, PairPanel("one seed", "error, %", {"elu": {0: 3.0}, "relu": {0: 4.0}})],
        stem,
    ),
    "functions": lambda stem: figures.functions(
        {"elu": (X, X, X), "my_own": (X, -X, X)}, stem
    ),
    "distributions": lambda stem: figures.distributions(UNITS, stem, xlabel="variance"),
    "numbers": lambda stem: figures.bars(
        [dot_panel([2, 4, 8], logx=True, log=True), dot_panel(range(10))], stem
    ),
    "names": lambda stem: figures.bars(
        [dot_panel(["mlp", "conv"], references={"the paper": 1.058}, log=True)] * 2,
        stem,
    ),
}
# What is written, and how often: a legend has each entry once.
WORDS = {
    "curves": {"ELU": 1, "ELU + BN": 1, "my_own": 1, "validation": 1, "start": 1},
    "functions": {"ELU": 1, "my_own": 1, "f\N{PRIME}(x)": 1},
    "distributions": {"ELU": 1, "ReLU": 1, "layer 2": 1, "0": 3, "units": 1},
    "numbers": {"ELU": 1, "once": 1, "layers": 2, "8": 2},
    "pairs": {"elu": 2, "my_own": 1, "relu": 1, "pairs": 1, "error, %": 2},
    "names": {"ELU": 1, "once": 1, "mlp": 1, "the paper": 1},
}


def content(stem):
    return [stem.with_name(stem.name + s).read_bytes() for s in (".png", ".svg")]


@pytest.mark.parametrize("kind", DRAWINGS)
def test_both_files_of_a_drawing(kind, tmp_path):
    DRAWINGS[kind](tmp_path / "new" / "lr0.01")
    png, svg = content(tmp_path / "new" / "lr0.01")
    picture = Image.open(io.BytesIO(png))
    assert picture.format == "PNG" and picture.width == 1600 and len(png) < 200_000
    assert b"<svg" in svg[:400] and svg.count(b"date>") == 0
    written = {word: svg.count(f"<!-- {word} -->".encode()) for word in WORDS[kind]}
    assert written == WORDS[kind]

    rc = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 20}):
        DRAWINGS[kind](tmp_path / "again")  # whatever a user's own style is
    assert content(tmp_path / "again") == [png, svg]
    assert dict(matplotlib.rcParams) == rc
    assert len(list(tmp_path.rglob("*.*"))) == 4  # and nothing temporary


def test_dots_of_a_name_stand_around_it():
    """Alone in its middle, two on both sides of it, whatever other names have."""

    def of(unit, *names):
        return Dots(unit, names, *([[0.0] * len(names)] * 3))

    panel = DotPanel(
        "", "", "", [of("elu", "a", "b"), of("relu", "b"), of("tanh", "c")]
    )
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    dots.plot(axes, panel, palette.looks(["elu", "relu", "tanh"]))
    # The others are ends of intervals.
    marks = [x for x in axes.lines if x.get_marker() not in ("|", "_", "")]
    (a, b), (other,), (c,) = (x.get_ydata() for x in marks)
    assert (a, c) == (0, 2) and b < 1 < other and b + other == pytest.approx(2)


def test_rows_of_dots_are_as_high_as_one(tmp_path):
    every = [dot_panel(["mlp", "conv"])] * 4
    for columns in (4, 2, 1):
        figures.bars(every, tmp_path / str(columns), columns=columns)
    pngs = [content(tmp_path / str(n))[0] for n in (4, 2, 1)]
    found = [Image.open(io.BytesIO(png)).height for png in pngs]
    assert found[1] - found[0] == pytest.approx((found[2] - found[1]) / 2, abs=2)
    assert found[1] > 1.5 * found[0]


def test_a_picture_of_noise_is_small(tmp_path):
    draws = np.random.default_rng(0).normal(size=(7, 2, 1000))
    series = [Series(n, range(1000), d) for n, d in zip(NAMES, draws, strict=True)]
    noise = Panel("noise", "step", "loss", series)
    figures.draw([[noise]], tmp_path / "noise", height=6)
    png, _ = content(tmp_path / "noise")
    assert len(png) < 200_000
    assert Image.open(io.BytesIO(png)).width >= 800


@pytest.mark.parametrize(
    ("summary", "middle", "low", "high"),
    [
        ("mean", [2, 4, 6, 1], [1, 4 - 2 * 2**0.5, 6, 1], [3, 4 + 2 * 2**0.5, 6, 1]),
        ("median", [2, 4, 6, 1], [2, 4, 6, 1], [2, 4, 6, 1]),
        ("quartiles", [2, 4, 6, 1], [1.5, 3, 6, 1], [2.5, 5, 6, 1]),
    ],
)
def test_curve(summary, middle, low, high):
    # Runs that ended early, points that one or none has.
    some = [[1, 2, NAN, NAN, 1], [2, 6], [3, NAN, NAN, 6]]
    found = panels.curve(Series("elu", [0, 1, 2, 3, 4], some, summary=summary))
    assert found.x.tolist() == [0, 1, 3, 4]
    assert found.middle.tolist() == middle
    assert found.low.tolist() == pytest.approx(low)
    assert found.high.tolist() == pytest.approx(high)


@pytest.mark.parametrize("summary", ["mean", "median", "quartiles"])
@pytest.mark.parametrize("dotted", [False, True])
def test_no_ribbon_of_one_run_or_a_dotted_curve(summary, dotted):
    some = [[1, NAN, 2], [3, NAN, 5]] if dotted else [[1, NAN, 2]]
    series = Series("elu", [1, 2, 3], some, summary=summary, dotted=dotted)
    found = panels.curve(series)
    assert found.low.tolist() == found.middle.tolist() == found.high.tolist()
    assert found.x.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("log", "values", "low", "high", "limits"),
    [
        (False, [100, 10, 6, 4, 900], 1, 3, (3.7, 10.3)),
        (False, [2], 0, 9, (1.9, 2.1)),  # a single point
        (False, [100, 10, 6, 4, 2], 3.5, 9, (1.95, 3.05)),  # comes in at 3
        (False, [2, 4, 8], 0, 1.5, (1.8, 6.2)),  # goes out at 6
        (False, [0, 0, 0], 0, 9, (-1, 1)),
        (True, [1e6, 1e4, 1e3, 1e2, 0], 1, 9, (10**1.9, 10**4.1)),
        (True, [1e6, 1e4, 0, 1e2], 0.5, 9, (10**1.85, 10**5.15)),
    ],
)
def test_zoom_fits_what_is_seen(log, values, low, high, limits):
    whole = one(Series("elu", range(len(values)), [values]), logy=log)
    part = zoom(whole, low, high, "b  start")
    assert (part.title, part.xlim) == ("b  start", (low, high))
    assert part.ylim == pytest.approx(limits)
    assert zoom(whole, low, high).title == "one"


def test_zoom_of_a_logarithmic_x_holds_what_comes_in():
    whole = one(Series("elu", [0, 1, 100, 1000], [[90, 1, 3, 3]]), logx=True)
    assert zoom(whole, 10, 1000).ylim == pytest.approx((1.95, 3.05))
    assert zoom(whole, 0.5, 100).ylim == pytest.approx((0.9, 3.1))


def test_a_ribbon_on_a_logarithmic_axis_stays_above_0():
    """One run of three is far above the others."""
    series = panels.Series("elu", [1, 2], [[1, 1], [2, 1], [3, 100]])
    linear, log = panels.curve(series), panels.curve(series, logy=True)
    assert linear.low[1] < 0 and log.low.tolist() == [1, 1]
    assert (linear.high == log.high).all() and (linear.middle == log.middle).all()


def test_zoom_holds_the_ribbons():
    some = [[1, 2, 3], [3, 4, 5]]
    low, high = zoom(one(Series("elu", [0, 1, 2], some)), 1, 2).ylim
    assert low < 3 - 2**0.5 and high > 4 + 2**0.5


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (Series("elu", [1, 1], [[1, 2]]), "x of 'elu' must rise"),
        (Series("elu", [2, 1], [[1, 2]]), "must rise"),
        (Series("elu", [1, NAN], [[1, 2]]), "must rise"),
        (Series("elu", [1, 2], [[1, 2, 3]]), "at most the 2 points.*shape"),
        (Series("elu", [1, 2], [1, 2]), "at most the 2 points.*shape"),
        (Series("elu", [1, 2], [[1, INF]]), "finite numbers, or NaN"),
        (Series("elu", [1, 2], [[NAN, NAN]]), "something must have been"),
        (Series("elu", [1, 2], []), "something must have been"),
        (Series("elu", [1, 2], [[1, 2]], summary="mode"), "mean, median, quartiles"),
    ],
)
def test_wrong_series_are_not_drawn(series, words, tmp_path):
    with pytest.raises(errors.UsageError, match=words):
        figures.draw([[one(series)]], tmp_path / "wrong")
    assert not list(tmp_path.iterdir())


RIGHT = Series("elu", [0, 1], [[1, 2]])
DOTS = Dots("elu", [1], [1], [0], [2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda stem: figures.draw([], stem), "rows of as many panels"),
        (lambda stem: figures.draw([[None]], stem), "something to draw"),
        (lambda stem: figures.draw([[panel()], []], stem), r"rows of \[1, 0\] panels"),
        (lambda _: one(RIGHT, ylim=(2, 1)), "limits of 'one' must rise"),
        (lambda _: one(RIGHT, xlim=(0, NAN)), "must rise"),
        (lambda _: one(RIGHT, ylim=(0, 1), logy=True), "above 0"),
        (lambda _: zoom(one(RIGHT), 2, 3), "no point from 2 to 3"),
        (lambda _: zoom(one(RIGHT), 1, 0), "no point from 1 to 0"),
        (
            lambda stem: figures.draw(
                [[one(Series("elu", [0, 1], [[0, -1]]), logy=True)]], stem
            ),
            "shows nothing of 'elu'",
        ),
        (lambda stem: figures.bars([], stem), "needs a panel"),
        (
            lambda stem: figures.bars(
                [DotPanel("", "", "", [Dots("elu", [1, 2], [1], [0], [2])])], stem
            ),
            "each of 2 x",
        ),
        (
            lambda stem: figures.bars(
                [DotPanel("", "", "", [Dots("elu", [1], [1], [2], [0])])], stem
            ),
            "ends below",
        ),
        (
            lambda stem: figures.bars(
                [DotPanel("", "", "", [DOTS, Dots("relu", ["a"], [1], [0], [2])])], stem
            ),
            "all numbers or all names",
        ),
        (
            lambda stem: figures.bars(
                [DotPanel("", "", "", [Dots("elu", [0], [1], [0], [2])], logx=True)],
                stem,
            ),
            "no place for x <= 0",
        ),
        (
            lambda stem: figures.distributions({"elu": [[-1.0]]}, stem, xlabel=""),
            "finite numbers >= 0",
        ),
        (
            lambda stem: figures.distributions(
                {"elu": [[1.0]], "relu": [[1.0], [2.0]]}, stem, xlabel=""
            ),
            "an array for each layer.*'elu': 1, 'relu': 2",
        ),
        (lambda stem: figures.distributions({}, stem, xlabel=""), "for each layer"),
    ],
)
def test_what_cannot_be_drawn(call, words, tmp_path):
    with pytest.raises(errors.UsageError, match=words):
        call(tmp_path / "wrong")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr(sheet.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(errors.UsageError, match=r"pip install \"elu-zoo\[paper\]\""):
        figures.draw([[one(RIGHT)]], tmp_path / "a")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="no folder"):
        figures.draw([[one(RIGHT)]], tmp_path / "file" / "a")


@pytest.mark.parametrize("values", [[0.0] * 4, [0.5] * 4, [0.0, 1e-30, 1.0, 1e5]])
def test_histograms_of_what_is_not_spread(values, tmp_path):
    figures.distributions({"elu": [values]}, tmp_path / "a", xlabel="variance")
    assert (tmp_path / "a.png").stat().st_size > 5000
