"""Calls of the training step. Each call runs several iterations in one function."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from elu_zoo import errors
from elu_zoo.data import order
from elu_zoo.training import schedules
from elu_zoo.training.run import Run
from elu_zoo.training.state import TrainState


@dataclasses.dataclass(frozen=True)
class Call:
    """Arguments of one call of the training step.

    Attributes:
        first: number of the first iteration.
        batches: indices of training examples, `(iterations, batch_size)`.
        learning_rates: the learning rate of each iteration, `(iterations,)`.
        draws: random numbers for the augmentation, `(iterations, batch_size, n)`, or
            None.
        rest: all remaining batches of the epoch if the call is the first of an epoch
            or of a process; otherwise None.
    """

    first: int
    batches: np.ndarray
    learning_rates: np.ndarray
    draws: np.ndarray | None
    rest: np.ndarray | None

    def check(self, losses: np.ndarray) -> None:
        """Checks that the losses are finite; raises `TrainingError`."""
        bad = np.flatnonzero(~np.isfinite(losses))
        if len(bad):
            raise errors.TrainingError(
                f"The loss of iteration {self.first + int(bad[0])} is "
                f"{losses[bad[0]]}, at learning rate {self.learning_rates[bad[0]]}. "
                "The last finite checkpoint is kept. Try a lower learning rate."
            )


def remaining_calls(
    run: Run, state: TrainState, until: Callable[[int], int]
) -> Iterator[Call]:
    """Yields the calls from the state's iteration to the end of the run.

    A call ends at the latest at the end of the epoch, at the end of the phase, or at
    the next checkpoint.

    Args:
        run: the built run.
        state: the train state, to which the caller adds the losses of each call.
        until: a function from a call's first iteration to the largest number of
            iterations in the call.
    """
    train, length = run.train, run.length
    epoch = permuted = draws = None
    while state.step < length.total:
        number, offset = divmod(state.step, length.steps_per_epoch)
        is_first = number != epoch
        if is_first:
            epoch = number
            arguments = run.seed, epoch, length.examples
            permuted = order.epoch_batches(*arguments, length.batch_size)
            draws = run.augmentation.draws(*arguments) if run.augmentation else None
        count = min(
            until(state.step),
            run.compilation.steps_per_call,
            length.steps_per_epoch - offset,
            run.phases.end(state.step) - state.step,
            train.checkpoint_every - state.step % train.checkpoint_every,
        )
        rates = schedules.learning_rates(
            np.arange(state.step, state.step + count),
            train.boundaries,
            train.learning_rates,
            train.learning_rate_shape,
            length.total,
        )
        chosen = permuted[offset : offset + count]
        yield Call(
            state.step,
            chosen,
            rates,
            None if draws is None else draws[chosen],
            permuted[offset:] if is_first else None,
        )
