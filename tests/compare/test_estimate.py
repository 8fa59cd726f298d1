"""Text of the estimate: runs, times, and what pairs can decide."""

import dataclasses

import pytest

from elu_zoo.compare import estimate

# A run takes 20 s + 100 * 0.1 s.
COSTS = [estimate.Cost(name, 20, 0.1, 100, 1.0) for name in ("elu", "relu", "tanh")]


@pytest.mark.parametrize(
    ("tune", "runs", "words"),
    [
        (2, (15, 27), ("6 runs for tuning and 5 runs", "15 to 27 runs, 2 at a time",
                       "4 minutes to 7 minutes", "± 1.24 to 1.56", "p >= 0.062, so")),
        (1, (3, 3), ("each with 5 runs at", "train: 3 runs", ": 45 seconds,")),
    ]
)  # fmt: skip
def test_the_text_has_runs_times_and_the_smallest_p(comparison, tune, runs, words):
    comparison = dataclasses.replace(comparison, tune=tune)
    text = estimate.text(COSTS, comparison, 2, *runs)
    assert [word for word in words if word not in text] == []
