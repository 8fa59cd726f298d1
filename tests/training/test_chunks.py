"""Chunks of iterations: where they end, their order, and their late losses."""

import contextlib
import threading
import types

import numpy as np
import pytest

from elu_zoo.data import order
from elu_zoo.training import chunks
from elu_zoo.training.config import resolve
from elu_zoo.training.phases import Phases
from elu_zoo.training.record.checkpoint import TrainState
from elu_zoo.training.run import Length

SEED, LENGTH = 3, Length(70, 10, 3)  # seven iterations an epoch


def draw(seed, epoch, count):
    return np.arange(count)[:, None] + 1000 * epoch


@pytest.fixture
def remaining(smoke):
    """A function that returns the chunks of a run from an iteration."""

    def begin(step, draw=draw):
        train = resolve(smoke({"train.checkpoint_every": 4})).config.train
        run = types.SimpleNamespace(
            seed=SEED,
            train=train,
            length=LENGTH,
            phases=Phases(train, LENGTH.total),
            augmentation=types.SimpleNamespace(draws=draw),
            compilation=types.SimpleNamespace(steps_per_call=3),
        )
        state = TrainState(step=step)
        return chunks.remaining_chunks(run, state, lambda step: 10 - step % 10)

    return begin


@pytest.mark.parametrize("step", [0, 3, 7, 20])
def test_chunks_end_at_checkpoints_records_and_epochs_and_pause_there(remaining, step):
    found = list(remaining(step))
    ends = sorted({*range(4, 21, 4), 10, 20, *range(7, 22, 7)})
    assert [chunk.first + len(chunk.batches) for chunk in found if chunk.pauses] == [
        end for end in ends if end > step
    ]
    assert max(len(chunk.batches) for chunk in found) == min(3, 21 - step)
    expected = np.concatenate([order.epoch_batches(SEED, e, 70, 10) for e in range(3)])
    batches = np.concatenate([chunk.batches for chunk in found])
    np.testing.assert_array_equal(batches, expected[step:])
    epochs = np.arange(step, 21)[:, None] // 7
    draws = np.concatenate([chunk.draws for chunk in found])[..., 0]
    np.testing.assert_array_equal(draws, batches + 1000 * epochs)
    for chunk in found:
        is_first = chunk.first in (step, 7, 14)
        assert (chunk.rest is not None) == is_first
        if is_first:
            rest = expected[chunk.first : (chunk.first // 7 + 1) * 7]
            np.testing.assert_array_equal(chunk.rest, rest)


def test_draws_are_prepared_one_epoch_ahead_by_a_thread_that_ends(remaining):
    threads, prepared = {*threading.enumerate()}, []

    def recorded(seed, epoch, count):
        prepared.append((epoch, threading.current_thread()))
        return draw(seed, epoch, count)

    with contextlib.closing(remaining(0, recorded)) as found:
        next(found)
    assert [epoch for epoch, _ in prepared] == [0, 1]
    assert threading.main_thread() not in dict(prepared).values()
    assert {*threading.enumerate()} <= threads


def test_an_error_of_the_thread_is_raised_where_the_epoch_begins(remaining):
    def fail_in_epoch_1(seed, epoch, count):
        return draw(seed, epoch, count // (1 - epoch))

    seen = 0
    with pytest.raises(ZeroDivisionError):
        for chunk in remaining(0, fail_in_epoch_1):
            seen = chunk.first + len(chunk.batches)
    assert seen == 7
