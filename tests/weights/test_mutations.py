"""Randomly damaged weight files, and damaged JSON entries beside weight files.

The default tests draw the same few examples in every run. `-m nightly` draws thousands of
new examples in every run, unless `--hypothesis-seed` is set.
"""

import contextlib
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

# With so few weights, most bytes of the file are structure and not weights.
ARGUMENTS = {"width": 0.02, "input_shape": [2, 2, 1]}
SECONDS = 60


@functools.cache
def good_weights():
    """Returns the entry, the bytes of the weight file, and the model."""
    return made_weights.make(**ARGUMENTS)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    entry, content, _ = good_weights()
    yield made_weights.write(tmp_path_factory.mktemp("run"), entry, content)
    faulthandler.cancel_dump_traceback_later()


def counts(default, with_mark_slow):
    """Parametrizes a test by its number of examples, as the module docstring says."""
    slow = pytest.param(with_mark_slow, marks=[pytest.mark.slow, pytest.mark.nightly])
    return pytest.mark.parametrize("count", [default, slow])


def check_examples(count, check_one):
    """Calls `check_one` once per example, with the `draw` function of hypothesis."""

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
        check_one(data.draw)

    run()


@counts(60, 2000)
def test_damaged_files_raise_an_error(path, count):
    entry, content, model = good_weights()

    def check_one(draw):
        path.write_bytes(spoilt_files.draw_damaged(draw, content))
        with pytest.raises(errors.CorruptError):
            made_weights.read(path, model, entry["sha256"])

    check_examples(count, check_one)


def check_error_or_same(path, text):
    """Asserts that `get_model` refuses an entry or loads the right weights."""
    entry, content, trained = good_weights()
    path.write_bytes(content)
    path.with_name(entry["tag"] + ".json").write_bytes(text)
    try:
        model = elu_zoo.get_model(made_weights.MODEL, weights=path)
    except errors.EluZooError:
        return
    for value, exact in zip(model.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(value, exact.astype(np.float16))


@counts(40, 2000)
def test_changed_fields_raise_an_error_or_load_the_right_weights(path, count):
    entry, _, _ = good_weights()

    def check_one(draw):
        changed = spoilt_files.draw_changed(draw, entry)
        with contextlib.suppress(KeyError):  # a field that the hash needs was deleted
            changed = made_weights.signed(changed)
        check_error_or_same(path, json.dumps(changed).encode())

    check_examples(count, check_one)


@counts(40, 2000)
def test_damaged_entries_raise_an_error_or_load_the_right_weights(path, count):
    text = json.dumps(good_weights()[0]).encode()

    def check_one(draw):
        check_error_or_same(path, spoilt_files.draw_damaged(draw, text))

    check_examples(count, check_one)
