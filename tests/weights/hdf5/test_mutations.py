"""Mutations of a good file and of its entry: refused, or the weights they say.

By default the same few of each in every run; `-m slow` draws thousands of others, new
ones in every run unless `--hypothesis-seed` is given.
"""

import faulthandler
import functools
import io
import json

import h5py
import numpy as np
import published_weights as made_weights
import pytest
import spoilt_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.weights.hdf5 import weight_file

# So small that most of a file is not values but what says where they are.
ARGUMENTS = {"width": 0.02, "input_shape": [2, 2, 1]}
SECONDS = 60


@functools.cache
def made():
    return made_weights.make(**ARGUMENTS)


@functools.cache
def other():
    return made_weights.make(**ARGUMENTS, seed=4)[1]


@functools.cache
def expected():
    return weight_file.shapes(made()[2])


@functools.cache
def original():
    """The arrays of the good file."""
    return [value.astype(np.float16) for value in made()[2].get_weights()]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    entry, content, _ = made()
    yield made_weights.write(tmp_path_factory.mktemp("run"), entry, content)
    faulthandler.cancel_dump_traceback_later()


def counts(default, thousands):
    slow = pytest.param(thousands, marks=pytest.mark.slow)
    return pytest.mark.parametrize("count", [default, slow])


def of_examples(count):
    """Makes a property of drawn data a function of no arguments."""

    def decorate(prove):
        each = settings(
            max_examples=count,
            deadline=None,
            derandomize=count < 1000,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        return each(given(st.data())(prove))

    return decorate


def watch():
    """Ends the process with a traceback if an example hangs, even in C."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)


def check_refused_or_right(path, content):
    """Reads a file that nothing verifies: any error but ours fails the test."""
    watch()
    path.write_bytes(content)
    try:
        arrays = made_weights.read(path, made()[2])
    except errors.CorruptError as error:
        assert str(error).isprintable() and len(str(error)) < 2000
        return
    assert {n: [v.shape for v in vs] for n, vs in arrays.items()} == expected()
    for value in (v for values in arrays.values() for v in values):
        assert value.dtype == np.float32 and np.isfinite(value).all()


@counts(60, 2000)
def test_any_other_byte_changes_the_hash(path, count):
    @of_examples(count)
    def prove(data):
        entry, content, model = made()
        path.write_bytes(spoilt_files.damaged(data.draw, content, other()))
        with pytest.raises(errors.CorruptError):
            made_weights.read(path, model, entry["sha256"])

    prove()


@counts(300, 20_000)
def test_damaged_bytes(path, count):
    @of_examples(count)
    def prove(data):
        content = spoilt_files.damaged(data.draw, made()[1], other())
        check_refused_or_right(path, content)

    prove()


@counts(80, 5000)
def test_forged_trees(path, count):
    @of_examples(count)
    def prove(data):
        buffer = io.BytesIO(made()[1])
        with h5py.File(buffer, "a") as file:
            spoilt_files.forge(file, data.draw)
        check_refused_or_right(path, buffer.getvalue())

    prove()


def check_refused_or_same(path, text):
    """Reads a good file with the entry `text`, through the front door."""
    watch()
    path.write_bytes(made()[1])
    path.with_name(made()[0]["tag"] + ".json").write_bytes(text)
    assigned = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weight_file, "assign", _recorded(weight_file.assign, assigned))
        try:
            model = elu_zoo.get_model(made_weights.MODEL, weights=path)
        except errors.EluZooError:
            assert not assigned
            return
    for value, exact in zip(model.get_weights(), original(), strict=True):
        np.testing.assert_array_equal(value, exact)


def _recorded(function, calls):
    def record(*arguments):
        calls.append(arguments)
        function(*arguments)

    return record


@counts(60, 2000)
def test_changed_entries(path, count):
    @of_examples(count)
    def prove(data):
        entry = spoilt_files.changed(data.draw, made()[0])
        check_refused_or_same(path, json.dumps(entry).encode())

    prove()


@counts(60, 2000)
def test_damaged_entries(path, count):
    @of_examples(count)
    def prove(data):
        text = json.dumps(made()[0]).encode()
        check_refused_or_same(path, spoilt_files.damaged(data.draw, text))

    prove()


def test_the_good_file_is_read(path):
    """Or else nothing here says anything."""
    entry, content, model = made()
    path.write_bytes(content)
    assert files.sha256(content) == entry["sha256"]
    arrays = made_weights.read(path, model, entry["sha256"])
    found = [value for values in arrays.values() for value in values]
    np.testing.assert_equal(found, [value.astype("f4") for value in original()])
