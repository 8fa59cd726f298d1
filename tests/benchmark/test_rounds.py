import numpy as np
import pytest

from elu_zoo.benchmark import rounds
from elu_zoo.benchmark.rounds import time_interleaved


@pytest.fixture
def clock(monkeypatch):
    """A function that advances the clock, which stands still otherwise."""
    passed = [0.0]
    monkeypatch.setattr(rounds.time, "perf_counter", lambda: sum(passed))
    return passed.append


def test_times_are_seconds_per_unit(clock):
    durations = iter([1000, 0, 2, 4, 6])  # compilation, estimate, three rounds
    forms = {"rising": lambda: clock(next(durations)), "even": lambda: clock(3)}
    seconds = time_interleaved(forms, 0, 3, units={"rising": 2})
    assert list(seconds["rising"]) == [1, 2, 3]
    assert list(seconds["even"]) == [3, 3, 3]


@pytest.mark.parametrize(
    ("least", "rounds", "expected"), [(1, None, 10), (15, None, 15), (15, 4, 4)]
)
def test_the_number_of_rounds_fits_into_the_time(clock, least, rounds, expected):
    durations = iter([1000] + [1] * 101)  # the first call compiles
    forms = {"a": lambda: clock(next(durations)), "b": lambda: clock(2)}
    seconds = time_interleaved(forms, 30, rounds, least=least)
    assert {len(times) for times in seconds.values()} == {expected}


@pytest.mark.parametrize(("warm", "calls", "pauses"), [(True, 8, 0), (False, 5, 3)])
def test_a_call_or_a_pause_precedes_each_timed_call(monkeypatch, warm, calls, pauses):
    slept, called = [], []
    monkeypatch.setattr(rounds.time, "sleep", slept.append)
    time_interleaved({"a": lambda: called.append(1)}, 0, 3, warm=warm)
    assert (len(called), len(slept)) == (calls, pauses)


def test_the_order_differs_by_round():
    called = []  # the first six calls are not timed
    forms = {name: lambda name=name: called.append(name) for name in "abc"}
    time_interleaved(forms, 0, 20)
    orders = ["".join(called[i : i + 3]) for i in range(6, len(called), 3)]
    assert len(orders) == 20 and len(set(orders)) > 3
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_the_interval_of_a_ratio_has_the_expected_width():
    n, s = 400, 0.05
    draws = np.random.default_rng(0).normal(1.2, s, n)
    median, low, high = rounds.ratio(draws, np.ones(n))
    width = 2 * 1.96 * 1.2533 * s / np.sqrt(n)  # 1.2533: the standard error of a median
    assert low < np.median(draws) == median < high
    assert high - low == pytest.approx(width, rel=0.35)
