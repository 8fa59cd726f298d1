"""Panels summarise the curves of several runs, and zoom to the visible values."""

import math

import pytest

from elu_zoo import errors
from elu_zoo.pairs.plots.panels import Panel, Series, curve, zoom

NAN = math.nan


def panel(series, **changes):
    return Panel("one", "epoch", "loss", [series], **changes)


@pytest.mark.parametrize(
    ("summary", "middle", "low", "high"),
    [
        ("mean", [3, 5], [3 - 2.5**0.5, 5], [3 + 2.5**0.5, 5]),
        ("quartiles", [3, 5], [2, 5], [4, 5]),
    ],
)
def test_five_runs_have_a_ribbon(summary, middle, low, high):
    # Runs end early: the last point has one run, and the second point has none.
    runs = [[1, NAN, NAN], [2], [3, NAN, 5], [4], [5, NAN]]
    found = curve(Series("elu", [0, 1, 2], runs, summary=summary))
    assert found.x.tolist() == [0, 2] and not len(found.thin)
    assert found.middle.tolist() == middle
    assert found.low.tolist() == pytest.approx(low)
    assert found.high.tolist() == pytest.approx(high)


@pytest.mark.parametrize(("summary", "middle"), [("mean", 3), ("quartiles", 2)])
def test_fewer_runs_are_thin_lines(summary, middle):
    runs = [[1.0], [1.0], [3.0], [7.0]]
    found = curve(Series("elu", [1], runs, summary=summary))
    assert found.thin.tolist() == runs and found.middle.tolist() == [middle]
    assert (found.low.tolist(), found.high.tolist()) == ([1], [7])


@pytest.mark.parametrize(
    ("ends", "chance", "is_bimodal"),
    [
        ((99, 98.6, 60), 99, True),
        ((98.4, 70, 60), 99, False),
        ((99, 99, 98.8), 99, False),
        ((99, 98.6, 60), None, False),
    ],
)
def test_bimodal_runs_are_thin_lines_without_a_mean(ends, chance, is_bimodal):
    runs = [[99, end, NAN] for end in ends] * 2
    found = curve(Series("elu", [1, 2, 3], runs), chance=chance)
    assert (found.middle is None) == is_bimodal
    assert len(found.thin) == is_bimodal * len(runs)


@pytest.mark.parametrize("dotted", [False, True])
def test_one_run_and_dotted_curves_have_no_spread(dotted):
    runs = [[1, NAN, 2], [3, NAN, 5]] if dotted else [[1, NAN, 2]]
    found = curve(Series("elu", [1, 2, 3], runs, dotted=dotted))
    assert found.low.tolist() == found.middle.tolist() == found.high.tolist()
    assert found.x.tolist() == [1, 3] and not len(found.thin)


def test_a_ribbon_on_a_logarithmic_axis_stays_above_0():
    # One run of five is far above the others.
    series = Series("elu", [1], [[1], [2], [2], [3], [100]])
    linear, log = curve(series), curve(series, logy=True)
    assert linear.low[0] < 0 and log.low.tolist() == [1]
    assert log.high == linear.high


@pytest.mark.parametrize(
    ("log", "values", "low", "high", "limits"),
    [
        (False, [100, 10, 6, 4, 900], 1, 3, (3.7, 10.3)),
        (False, [2], 0, 9, (1.9, 2.1)),  # a single point
        (False, [100, 10, 6, 4, 2], 3.5, 9, (1.95, 3.05)),  # enters at 3
        (False, [2, 4, 8], 0, 1.5, (1.8, 6.2)),  # leaves at 6
        (False, [0, 0, 0], 0, 9, (-1, 1)),
        (True, [1e6, 1e4, 1e3, 1e2, 0], 1, 9, (10**1.9, 10**4.1)),
        (True, [1e6, 1e4, 0, 1e2], 0.5, 9, (10**1.85, 10**5.15)),
    ],
)
def test_zoom_fits_the_visible_points(log, values, low, high, limits):
    full = panel(Series("elu", range(len(values)), [values]), logy=log)
    part = zoom(full, low, high, "b  start")
    assert (part.title, part.xlim) == ("b  start", (low, high))
    assert part.ylim == pytest.approx(limits)
    assert zoom(full, low, high).title == "one"


def test_zoom_fits_points_on_a_logarithmic_x_axis():
    full = panel(Series("elu", [0, 1, 100, 1000], [[90, 1, 3, 3]]), logx=True)
    assert zoom(full, 10, 1000).ylim == pytest.approx((1.95, 3.05))
    assert zoom(full, 0.5, 100).ylim == pytest.approx((0.9, 3.1))


def test_zoom_contains_the_ribbons():
    runs = [[1, 2, 3], [3, 4, 5]] * 3
    low, high = zoom(panel(Series("elu", [0, 1, 2], runs)), 1, 2).ylim
    assert low < 3 - 1.2**0.5 and high > 4 + 1.2**0.5


def test_zoom_without_a_point_raises_an_error():
    with pytest.raises(errors.UsageError, match="there is none from 2 to 3"):
        zoom(panel(Series("elu", [0, 1], [[1, 2]])), 2, 3)
