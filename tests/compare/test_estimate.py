"""Text of the estimate: runs, times, and what pairs can decide."""

import pytest

from elu_zoo.compare import estimate
from elu_zoo.compare.estimate import Cost

# Each run takes 10 s + 100 * 0.1 s + 2 * 5 s.
COSTS = [Cost(name, 10, 0.1, 5, 100, 2, 1.0) for name in ("elu", "relu", "tanh")]


@pytest.mark.parametrize(
    ("tune", "seeds", "words"),
    [
        (5, 5, ("42 to 57 runs, 2 at a time", "10 minutes to 14 minutes",
                "5 pairs can decide", "± 1.24 to 1.56 standard", "p >= 0.062, so")),
        (1, 1, ("3 runs, 2 at a time", "45 seconds,", "nothing will be concluded")),
        (9, 100, ("339 to 639 runs", "85 minutes to 2.7 hours")),
    ],
)  # fmt: skip
def test_the_text_has_runs_times_and_the_smallest_p(tune, seeds, words):
    text = estimate.text(COSTS, tune, seeds, 2, {})
    assert [word for word in words if word not in text] == []
