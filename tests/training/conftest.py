"""Fixtures that train small runs, stop them and read their files."""

import json
import signal

import numpy as np
import pytest
import small_stacks

from elu_zoo import training
from elu_zoo.configs import quickstart
from elu_zoo.evaluation import evaluator
from elu_zoo.training.step import resident


@pytest.fixture
def smoke():
    """A function that makes a config of 20 iterations of a small network on 640 digits."""

    def make(entries=(), arg=""):
        config = quickstart.get_config(",".join(filter(None, ["smoke=True", arg])))
        if "model.name" not in dict(entries):
            with config.unlocked():
                config.model.hidden_layers = 2
        config.update_from_flattened_dict(dict(entries))
        return config

    return make


@pytest.fixture
def phased(restored_models):
    """`small_stacks.get_config`, with the network `small_stacks` registered."""
    small_stacks.register()
    return small_stacks.get_config


@pytest.fixture
def train():
    """`training.train` without XLA, because XLA takes a second to compile."""

    def call(config, workdir, **arguments):
        return training.train(config, workdir, **{"compile": "off", **arguments})

    return call


@pytest.fixture
def rows():
    """A function that reads the rows of a .jsonl file."""
    return lambda path: [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def last_arrays():
    """A function that reads the arrays of a run's newest checkpoint as a list."""

    def read(workdir):
        newest = max((workdir / "checkpoints").glob("step-*"))
        with np.load(newest, allow_pickle=False) as arrays:
            return [arrays[name] for name in arrays.files if name != "state"]

    return read


@pytest.fixture
def assert_same_bits():
    """A function that asserts that two lists of arrays have equal bytes."""

    def compare(arrays, expected):
        assert [a.dtype for a in arrays] == [a.dtype for a in expected]
        for index, (a, b) in enumerate(zip(arrays, expected, strict=True)):
            assert a.tobytes() == b.tobytes(), index

    return compare


@pytest.fixture
def stop_after(monkeypatch):
    """A function that plans a call, such as a stop, after a number of iterations.

    `stop_after(n, act)` calls `act` as soon as the training step has run n iterations.
    """

    def plan(iteration, act, step=resident.ResidentStep):
        run, done = step.run, [0]

        def counted(self, batches, *arguments):
            values = run(self, batches, *arguments)
            done[0] += len(batches)
            if done[0] >= iteration:
                monkeypatch.setattr(step, "run", run)
                act()
            return values

        monkeypatch.setattr(step, "run", counted)

    return plan


@pytest.fixture
def signal_at(monkeypatch):
    """A function that plans a SIGINT in a batch of evaluations, counted from 1.

    It returns a list with the number of batches so far.
    """

    def plan(batch, size):
        monkeypatch.setattr(evaluator, "_BATCH_SIZE", size)
        original, done = evaluator.inference, [0]

        def counted(model):
            forward = original(model)

            def call(images):
                done[0] += 1
                if done[0] == batch:
                    signal.raise_signal(signal.SIGINT)
                return forward(images)

            return call

        monkeypatch.setattr(evaluator, "inference", counted)
        return done

    return plan
