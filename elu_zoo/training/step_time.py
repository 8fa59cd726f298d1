"""The time of one iteration of a run."""

import time
from collections.abc import Callable

import numpy as np

from elu_zoo.training.chunks import remaining_chunks
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.run import Run


def timer(run: Run) -> Callable[[], float]:
    """Returns a function that trains the first chunk, and returns seconds an iteration.

    The step is compiled before. Learning rates are 0 and the weights stay, because steps
    of a diverging run take other times.
    """
    chunk = next(remaining_chunks(run, TrainState(), lambda step: run.length.total))
    run.step.start(chunk.rest)
    if run.phases.enter(run.model, chunk.first):
        run.step.compile()
    rates = np.zeros_like(chunk.learning_rates)

    def seconds_of_step() -> float:
        start = time.perf_counter()
        np.asarray(run.step.run(chunk.batches, rates, chunk.first, chunk.draws))  # waits
        return (time.perf_counter() - start) / len(rates)

    seconds_of_step()  # compiles
    run.step.sync()
    return seconds_of_step
