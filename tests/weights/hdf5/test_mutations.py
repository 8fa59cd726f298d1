"""Random damage to a good file or entry is refused, or the right weights are read.

The default tests draw the same few examples in every run. `-m slow` draws thousands of
new examples in every run, unless `--hypothesis-seed` is set.
"""

import faulthandler
import functools
import json

import numpy as np
import published_weights as made_weights
import pytest
import spoilt_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights.hdf5 import weight_file

# The network is so small that the structure takes most of the file.
ARGUMENTS = {"width": 0.02, "input_shape": [2, 2, 1]}
SECONDS = 60


@functools.cache
def made():
    return made_weights.make(**ARGUMENTS)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    entry, content, _ = made()
    yield made_weights.write(tmp_path_factory.mktemp("run"), entry, content)
    faulthandler.cancel_dump_traceback_later()


def counts(default, thousands):
    slow = pytest.param(thousands, marks=pytest.mark.slow)
    return pytest.mark.parametrize("count", [default, slow])


def check_examples(count, prove):
    """Calls `prove` with the function `draw` of each of `count` examples."""

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=count < 1000,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data):
        # Ends the process with a traceback if an example hangs, even in C.
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        prove(data.draw)

    run()


@counts(60, 2000)
def test_changed_bytes_change_the_hash(path, count):
    entry, content, model = made()

    def prove(draw):
        path.write_bytes(spoilt_files.draw_damaged(draw, content))
        with pytest.raises(errors.CorruptError):
            made_weights.read(path, model, entry["sha256"])

    check_examples(count, prove)


@counts(200, 20_000)
def test_damaged_bytes_without_a_hash_are_refused_or_have_valid_weights(path, count):
    _, content, model = made()

    def prove(draw):
        path.write_bytes(spoilt_files.draw_damaged(draw, content))
        try:
            arrays = made_weights.read(path, model)
        except errors.CorruptError as error:
            assert str(error).isprintable() and len(str(error)) < 2000
            return
        found = {name: [v.shape for v in values] for name, values in arrays.items()}
        assert found == weight_file.shapes(model)
        for value in (v for values in arrays.values() for v in values):
            assert value.dtype == np.float32 and np.isfinite(value).all()

    check_examples(count, prove)


def check_refused_or_same(path, text):
    """Asserts that `get_model` refuses the entry `text`, or loads the right weights."""
    _, content, trained = made()
    path.write_bytes(content)
    path.with_name(made()[0]["tag"] + ".json").write_bytes(text)
    try:
        model = elu_zoo.get_model(made_weights.MODEL, weights=path)
    except errors.EluZooError:
        return
    for value, exact in zip(model.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(value, exact.astype(np.float16))


@counts(40, 2000)
def test_changed_entries_are_refused_or_load_the_right_weights(path, count):
    def prove(draw):
        entry = spoilt_files.draw_changed(draw, made()[0])
        check_refused_or_same(path, json.dumps(entry).encode())

    check_examples(count, prove)


@counts(40, 2000)
def test_damaged_entries_are_refused_or_load_the_right_weights(path, count):
    text = json.dumps(made()[0]).encode()
    check_examples(
        count,
        lambda draw: check_refused_or_same(path, spoilt_files.draw_damaged(draw, text)),
    )
