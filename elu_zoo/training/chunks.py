"""Chunks of iterations, each of which is one call of the training step, and their time."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from elu_zoo import errors
from elu_zoo.data import order
from elu_zoo.training import schedules
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.run import Run

if TYPE_CHECKING:
    from elu_zoo.training.record.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Iterations of one call of the training step."""

    first: int  # number of the first iteration
    batches: np.ndarray  # indices of training examples, `(iterations, batch_size)`
    learning_rates: np.ndarray  # `(iterations,)`
    draws: np.ndarray | None  # for the augmentation, `(iterations, batch_size, n)`
    rest: np.ndarray | None  # in an epoch's or process's first chunk: the epoch's batches
    pauses: bool  # whether a record, a checkpoint, a new phase or the end may follow


def remaining_chunks(run: Run, state: TrainState, until: Callable[[int], int]) -> Generator[Chunk]:
    """Yields the chunks from the state's iteration to the end of the run.

    A chunk ends at the latest at the end of the epoch, at the end of the phase, at the next
    checkpoint, or `until(first)` iterations after its first one.
    """
    train, length = run.train, run.length
    first = step = state.step
    with contextlib.closing(_epochs(run, step // length.steps_per_epoch)) as epochs:
        while step < length.total:
            offset = step % length.steps_per_epoch
            is_first = step == first or not offset
            if is_first:
                permuted, draws = next(epochs)
            limit = min(
                until(step),
                length.steps_per_epoch - offset,
                run.phases.end(step) - step,
                train.checkpoint_every - step % train.checkpoint_every,
            )
            count = min(limit, run.compilation.steps_per_call)
            rates = schedules.learning_rates(np.arange(step, step + count), train, length.total)
            chosen = permuted[offset : offset + count]
            yield Chunk(
                step,
                chosen,
                rates,
                None if draws is None else draws[chosen],
                permuted[offset:] if is_first else None,
                count == limit,
            )
            step += count


def _epochs(run: Run, first: int) -> Generator[tuple[np.ndarray, np.ndarray | None]]:
    """Yields batches and draws of epochs, which a thread prepares one epoch ahead."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(_prepare, run, first)
        for epoch in range(first + 1, run.length.epochs):
            ready, coming = coming.result(), thread.submit(_prepare, run, epoch)
            yield ready
        yield coming.result()


def _prepare(run: Run, epoch: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns the batches and the draws of an epoch."""
    arguments = run.seed, epoch, run.length.examples
    batches = order.epoch_batches(*arguments, run.length.batch_size)
    return batches, run.augmentation.draws(*arguments) if run.augmentation else None


class PendingChunk:
    """The last chunk, whose losses have not been read yet.

    Losses are read after the next chunk has begun, so that a device does not wait for
    the host. The train state and the records have iterations with read losses only.
    """

    def __init__(self, run: Run, state: TrainState, outputs: "Outputs"):
        self._run, self._state, self._outputs = run, state, outputs
        self._pending: tuple[Chunk, Any] | None = None

    def begin(self, chunk: Chunk) -> None:
        """Begins a chunk, and then reads the losses of the previous chunk."""
        self._outputs.timer.start(chunk.batches.size)
        losses = self._run.step.run(chunk.batches, chunk.learning_rates, chunk.first, chunk.draws)
        self._read()
        self._pending = chunk, losses

    def finish(self) -> None:
        """Waits for the last chunk, reads its losses, and updates the variables."""
        self._read()
        self._run.step.sync()
        self._outputs.timer.stop()

    def save(self) -> None:
        """Saves a checkpoint after the last chunk."""
        self.finish()
        self._outputs.save(self._state)

    def _read(self) -> None:
        if self._pending is None:
            return
        (chunk, losses), self._pending = self._pending, None
        losses = np.asarray(losses)  # waits for the device
        bad = np.flatnonzero(~np.isfinite(losses))
        if len(bad):
            raise errors.TrainingError(
                f"The loss of iteration {chunk.first + int(bad[0])} is {losses[bad[0]]}, at rate "
                f"{chunk.learning_rates[bad[0]]}. Lower the rates in another --workdir."
            )
        self._state.add(losses)
        self._outputs.observe_losses(losses)
        self._outputs.display.update(self._state.step)


def timer(run: Run) -> Callable[[], float]:
    """Returns a function that measures the seconds per iteration of the first chunk.

    The step is compiled before. Learning rates are 0 and the weights stay, because steps
    of a diverging run take other times.
    """
    chunk = next(remaining_chunks(run, TrainState(), lambda step: run.length.total))
    if run.phases.enter(run.model, chunk.first):
        run.step.compile()
    rates, left = np.zeros_like(chunk.learning_rates), 0
    rest = chunk.batches if chunk.rest is None else chunk.rest

    def seconds_of_step() -> float:
        nonlocal left
        if left < len(rates):  # a reader of images on the disk may have ended
            run.step.start(rest)
            left = len(rest)
        left -= len(rates)
        start = time.perf_counter()
        np.asarray(run.step.run(chunk.batches, rates, chunk.first, chunk.draws))  # waits
        return (time.perf_counter() - start) / len(rates)

    seconds_of_step()  # compiles
    run.step.sync()
    return seconds_of_step
