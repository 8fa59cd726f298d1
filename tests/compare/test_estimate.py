"""Text of the estimate: runs, times, and what pairs can decide."""

import dataclasses

import pytest

from elu_zoo.compare import estimate
from elu_zoo.compare.estimate import Cost

# Each run takes 10 s + 100 * 0.1 s + 2 * 5 s, a start of a process 8 s.
COSTS = [Cost(name, 8, 10, 0.1, 5, 100, 2, 1.0) for name in ("elu", "relu", "tanh")]
ONE, FOUR = (dict.fromkeys(("elu", "relu", "tanh"), n) for n in (1, 4))


@pytest.mark.parametrize(
    ("tune", "stages", "perhaps", "jobs", "words"),
    [
        # Seconds: (3 / 2 * 30 + 8) + (12 / 2 * 30 + 2 * 8), and 196 more.
        (2, (ONE, FOUR), FOUR, 2,
         ("6 runs for tuning and 5 runs", "15 to 27 runs, 2 at a time",
          "4 minutes to 7 minutes", "5 pairs can decide", "± 1.24 to 1.56 standard",
          "p >= 0.062, so")),
        (1, (ONE,), {}, 2, ("each with 5 runs at", "train: 3 runs", ": 53 seconds,")),
        (1, ({"elu": 2},), {}, 2, ("train: 2 runs", ": 38 seconds,")),
        (2, (ONE, ONE), {}, 9, (": 76 seconds,",)),  # a stage waits for the one before
        (2, (ONE, {}), {}, 9, (": 38 seconds,",)),
        (1, ({},), {}, 2, ("train: 0 runs", ": 0 seconds,")),
    ]
)  # fmt: skip
def test_the_text_has_runs_times_and_the_smallest_p(question, tune, stages, perhaps, jobs, words):
    question = dataclasses.replace(question, tune=tune)
    text = estimate.text(COSTS, question, (jobs, 4), stages, perhaps)
    assert [word for word in words if word not in text] == []


def test_fewer_than_five_pairs_decide_nothing():
    assert "nothing will be concluded" in estimate.decidable(4, 1)
