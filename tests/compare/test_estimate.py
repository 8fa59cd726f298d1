"""Text of the estimate: runs and times."""

import dataclasses

from elu_zoo.compare import estimate

COSTS = [estimate.Cost(name, 10, run, 1.0) for name, run in (("elu", 20), ("relu", 40))]


def test_the_text_has_the_runs_and_the_times_of_rounds_and_processes(comparison):
    # A run takes 30 s, and the start of processes, after 8 runs again, 10 s.
    text = estimate.text(COSTS, comparison, 2, ([15, 0, 4], [19, 0, 8]))
    assert "at most 9 runs for tuning and 5 runs" in text
    assert "To train: 19 to 27 runs, 2 at a time" in text and "6 minutes to 8 minutes" in text
    text = estimate.text(COSTS, dataclasses.replace(comparison, tune=1), 2, ([3], [3]))
    assert "each with 5 runs at" in text and "train: 3 runs" in text and ": 70 seconds," in text
