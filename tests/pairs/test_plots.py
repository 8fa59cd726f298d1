"""Figures have the expected files and legends; axes show the expected values."""

import io
import math

import numpy as np
import pandas as pd
import pytest

from elu_zoo.pairs import plots

matplotlib = pytest.importorskip("matplotlib")
figure = pytest.importorskip("matplotlib.figure")
Image = pytest.importorskip("PIL.Image")


def frame(runs, batch_norm=False):
    """Returns the points of runs: {activation: [[y of x = 0, 1, ...] of each seed]}."""
    rows = [
        (name, batch_norm, seed, x, y)
        for name, curves in runs.items()
        for seed, curve in enumerate(curves)
        for x, y in enumerate(curve)
    ]
    table = pd.DataFrame(rows, columns=["activation", "batch_norm", "seed", "x", "y"])
    return table.assign(activation=pd.Categorical(table["activation"], list(runs)))


def dots(*rows):
    columns = ["activation", "at", "middle", "low", "high"]
    return pd.DataFrame(rows, columns=columns).assign(batch_norm=False)


def axes_of(draw, *arguments, **options):
    axes = figure.Figure().subplots()
    draw(axes, *arguments, **options)
    return axes


def draw_all(stem):
    runs = frame({"relu": [[1, 2], [3, 4]], "elu": [[1, 1]], "my_own": [[2, 3]]})
    with plots.figure(stem, [2, 3], 6) as [[one, two], [three, four, five]]:
        plots.curves(one, runs, "x", "y")
        plots.curves(one, frame({"elu": [[2, 2]]}, batch_norm=True), "x", "y")
        one.axhline(3, label="chance", **plots.REFERENCE)
        plots.dots(two, dots(("tanh", 2, 1, 0, 2)), "at")
        plots.paired(three, runs[runs["x"] == 0], "y")
        plots.histogram(four, {"elu": np.geomspace(1e-3, 1, 9)}, (-3, 0))
        five.set_yscale("log")
        plots.curves(five, runs, "x", "y")


def test_a_figure_is_two_files_that_do_not_depend_on_the_users_style(tmp_path):
    draw_all(tmp_path / "new" / "lr0.01")
    settings = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 20}):
        draw_all(tmp_path / "again")
    assert dict(matplotlib.rcParams) == settings
    png, svg = (tmp_path / "new" / f"lr0.01.{kind}" for kind in ("png", "svg"))
    assert png.read_bytes() == (tmp_path / "again.png").read_bytes()
    assert svg.read_bytes() == (tmp_path / "again.svg").read_bytes()
    assert Image.open(io.BytesIO(png.read_bytes())).width == 1200
    # Each label is once in the legend; the names of activations are ticks of panel c.
    labels = {"ELU": 2, "ReLU": 2, "my_own": 2, "ELU + BN": 1, "tanh": 1, "chance": 1}
    text = svg.read_text()
    assert {label: text.count(f"<!-- {label} -->") for label in labels} == labels


FIVE = [[1, math.nan, math.nan], [2, math.nan, 4], [2, math.nan, 5], [3, math.nan, 6], [12, 1, 9]]


@pytest.mark.parametrize(
    ("runs", "options", "scale", "middle", "spread"),
    [
        # A NaN was not measured; the ribbon is one standard deviation, of one run 0.
        (FIVE, {}, "linear", [4, 1, 6], [4 - 20.5**0.5, 1, 6 - (14 / 3) ** 0.5]),
        (FIVE, {}, "log", [4, 1, 6], [1, 1, 4]),  # ends at the lowest run
        (FIVE, {"summary": "quartiles"}, "linear", [2, 1, 5.5], [2, 1, 4.75]),
        (FIVE, {"dotted": True}, "linear", [4, 1, 6], None),
        # Thin lines join measured points, and end where the run ended.
        ([[1, math.nan, 5], [2, 4]], {}, "linear", [1.5, 4, 5], [[1, 3, 5], [2, 4, math.nan]]),
        ([[1, 2]], {}, "linear", [1, 2], None),
    ],
)
def test_curves_have_a_line_and_the_spread_of_runs(runs, options, scale, middle, spread):
    axes = figure.Figure().subplots()
    axes.set_yscale(scale)
    plots.curves(axes, frame({"elu": runs}), "x", "y", **options)
    line, *thin = axes.lines
    np.testing.assert_allclose(line.get_ydata(), middle)
    if len(runs) in (1, 5):
        ribbons = [ribbon.get_paths()[0].vertices[:, 1] for ribbon in axes.collections]
        lowest = [] if spread is None else [pytest.approx(min(spread))]
        assert [each.min() for each in ribbons] == lowest and not thin[1:]
        assert all(each.max() > max(middle) for each in ribbons)
    else:
        np.testing.assert_array_equal([each.get_ydata() for each in thin], spread)
    assert (line.get_label() == "ELU") == (not options.get("dotted"))


def test_a_line_of_one_point_has_a_marker():
    marks = []
    for relu in ([], [[3]]):
        axes = axes_of(plots.curves, frame({"elu": [[1, 2]], "relu": relu}), "x", "y")
        axes.set_axis_off()
        axes.figure.savefig(svg := io.BytesIO(), format="svg")
        marks.append(svg.getvalue().count(b"<use"))
    assert marks[1] == marks[0] + 1


def test_dots_at_one_place_are_apart_and_centred():
    rows = [("elu", 2, 5, 4, 8), ("elu", 12, 7, math.nan, math.nan), ("relu", 12, 6, 6, 6)]
    axes = axes_of(plots.dots, dots(*rows, ("tanh", 20, 1, 0, 2)), "at")
    elu, relu, tanh = (line for line in axes.lines if not line.get_label().startswith("_"))
    (a, b), (other,), (c,) = (line.get_xdata() for line in (elu, relu, tanh))
    assert (a, c) == (0, 2) and b < 1 < other and b + other == pytest.approx(2)
    assert elu.get_ydata().tolist() == [5, 7]
    first = axes.containers[0].lines[2][0].get_segments()[0]
    assert first[:, 1].tolist() == [4, 8]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "12", "20"]
    assert not axes_of(plots.dots, dots(("tanh", "20", 1, 0, 2))[:0], "at").lines
