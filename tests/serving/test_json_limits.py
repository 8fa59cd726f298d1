"""Deep, large or random JSON bodies raise short errors or are converted correctly."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elu_zoo.serving import json_format
from elu_zoo.serving.status_errors import StatusError

# Members that are added to a body. A boolean disables the fast conversion by NumPy.
MEMBERS = "", ', "other": true'
# Format strings for the values and a text of MEMBERS.
FORMS = (
    '{"instances": %s%s}',
    '{"inputs": %s%s}',
    '{"inputs": {"x": %s}%s}',
    '{"instances": [{"x": %s}]%s}',
)


@pytest.fixture
def error_of(signature):
    def error_of(body, inputs):
        tested = signature(inputs)
        with pytest.raises(StatusError) as raised:
            json_format.read(body.encode(), lambda name: tested, 10**6)
        assert raised.value.http_status == 400
        return raised.value.message

    return error_of


@pytest.mark.parametrize("data_type", ["float", "string"])
@pytest.mark.parametrize("shape", [(None,), None])
@pytest.mark.parametrize("levels", [33, 1000])
def test_deep_lists_are_rejected(error_of, data_type, shape, levels):
    for leaf in "", "1", '"a"':
        deep = "[" * levels + leaf + "]" * levels
        for text, member, form in itertools.product((deep, f"[1, {deep}]"), MEMBERS, FORMS):
            error_of(form % (text, member), {"x": (data_type, shape)})


def test_deep_objects_are_rejected_with_a_short_message(error_of):
    deep = '{"x": ' * 900 + "1" + "}" * 900
    for body in deep, *(form % (deep, "") for form in FORMS):
        for data_type in "float", "string":
            assert len(error_of(body, {"x": (data_type, (None,))})) < 500


def test_long_string_among_numbers_allocates_little_memory(error_of, little_memory):
    text = json.dumps(["x" * 20_000] + ["y"] * 1000)
    inputs = {"x": ("float", (None,))}
    with little_memory():
        message = error_of(f'{{"inputs": {text}}}', inputs)
    assert "float" in message and len(message) < 500


LEAVES = st.integers(-9, 9) | st.floats(-1e30, 1e30)
BAD = LEAVES | st.sampled_from([True, None, "1", 3.5e38, {"b64": ""}])


def nested(shape, leaves):
    """Returns a strategy for nested lists of numbers in a shape."""
    for size in reversed(shape):
        leaves = st.lists(leaves, min_size=size, max_size=size)
    return leaves


REGULAR = st.lists(st.integers(0, 3), max_size=3).flatmap(
    lambda shape: st.tuples(nested(shape, LEAVES), st.just(shape))
)
RAGGED = st.tuples(
    st.recursive(LEAVES | BAD, lambda inner: st.lists(inner, max_size=3), max_leaves=9),
    st.lists(st.integers(0, 3), max_size=3),
)


def leaves_of(value):
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves_of(item)]
    return [value]


def expected_of(value, declared):
    """Returns the expected array, or None if reading `value` must raise an error."""
    if not all(type(leaf) in (int, float) for leaf in leaves_of(value)):
        return None
    if any(abs(leaf) == 3.5e38 for leaf in leaves_of(value)):
        return None
    try:
        array = np.array(value, np.float32)
    except ValueError:
        return None
    shape_matches = len(declared) == array.ndim and all(
        expected_size in (None, size)
        for expected_size, size in zip(declared, array.shape, strict=True)
    )
    is_empty = bool(declared) and declared[0] is None and array.shape[:1] == (0,)
    return array if shape_matches and not is_empty else None


@given(REGULAR | RAGGED, st.lists(st.booleans(), min_size=3, max_size=3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_random_values_of_the_declared_shape_are_read(
    signature, value_and_shape, is_unknown, with_boolean
):
    value, shape = value_and_shape
    declared = [None if u else n for u, n in zip(is_unknown, shape, strict=False)]
    tested = signature({"x": ("float", declared)})
    body = json.dumps({"inputs": {"x": value}, "other": with_boolean or None}).encode()
    expected = expected_of(value, declared)
    if expected is None:
        with pytest.raises(StatusError):
            json_format.read(body, lambda name: tested, 10**6)
    else:
        converted = json_format.read(body, lambda name: tested, 10**6).arrays["x"]
        np.testing.assert_array_equal(converted, expected, strict=True)


@pytest.mark.parametrize("body", ['{"instances": [1, 1, 1]}', '{"inputs": [1, 1, 1]}'])
def test_too_many_examples_are_not_converted(signature, monkeypatch, body):
    tested = signature({"x": ("float", (None,))}, {"y": ("float", (None,))})
    assert len(json_format.read(body.encode(), lambda name: tested, 3).arrays["x"]) == 3
    monkeypatch.setattr(json_format, "to_array", pytest.fail)
    with pytest.raises(StatusError, match="larger"):
        json_format.read(body.encode(), lambda name: tested, 2)
