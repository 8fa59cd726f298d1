"""JSON requests are converted to arrays, and wrong requests raise errors.

Errors for models with one image input are tested in tests/serving_conformance.
"""

import itertools
import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from elu_zoo.serving import json_format
from elu_zoo.serving.status_errors import StatusError

# mode of conversion: JSON members that are added to the body. A boolean anywhere in the
# body disables the fast conversion by NumPy.
MODES = {"fast": "", "by leaf": ', "other": true'}
# form: format string of a body, for the values and for the members of MODES.
FORMS = {
    "unnamed row": '{"instances": %s%s}',
    "unnamed column": '{"inputs": %s%s}',
    "named column": '{"inputs": {"x": %s}%s}',
}
NAMED_ROW = '{"instances": [{"x": %s}]%s}'
LARGEST = "9223372036854775807"  # int64


@pytest.fixture
def read(signature):
    """Returns a function that parses a body for inputs {name: (type, shape)}."""

    def read(body, inputs):
        declared = signature(inputs)
        request = json_format.read(body.encode(), lambda name: declared, 10**6)
        assert request.signature is declared
        return request

    return read


@pytest.fixture
def error_of(read):
    """Returns a function from an invalid body to the error message."""

    def error_of(body, inputs):
        with pytest.raises(StatusError) as raised:
            read(body, inputs)
        assert raised.value.http_status == 400
        return raised.value.message

    return error_of


@pytest.mark.parametrize(
    ("data_type", "shape", "text", "expected"),
    [
        ("float", (None,), "[1, 2.5, -0.0, 1e-60, 16777217]", [1, 2.5, 0, 0, 2**24]),
        ("float", (None,), "[3.4028234663852886e38]", [np.finfo(np.float32).max]),
        ("double", (None,), "[9007199254740993, 1.7e308]", [2**53, 1.7e308]),
        ("half", (None,), "[2049, -65504]", [2048, -65504]),
        ("int64", (None,), f"[{LARGEST}, -{LARGEST[:-1]}8]", [2**63 - 1, -(2**63)]),
        ("uint8", (None,), "[0, 255]", [0, 255]),
        ("uint64", (None,), "[18446744073709551615, 0]", [2**64 - 1, 0]),
        ("bool", (2, 1), "[[false], [true]]", [[False], [True]]),
        ("string", (None,), '["ü", "", {"b64": "AP8="}]', ["ü".encode(), b"", b"\0\xff"]),
        ("string", (None,), r'[{"b64": "Y\tQ\r\n=\u000b=\f "}, {"b64": "YWI"}]', [b"a", b"ab"]),
        ("float", (None, 2, 1), "[[[1], [2]]]", [[[1], [2]]]),
        ("float", (None, None), "[[], []]", [[], []]),
        ("string", (None, None), "[[], []]", [[], []]),
        ("float", None, "[" * 32 + "1" + "]" * 32, np.ones((1,) * 32)),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_values_are_converted_to_the_declared_type(read, data_type, shape, text, expected, mode):
    dtype = tf.as_dtype(types_pb2.DataType.Value(f"DT_{data_type.upper()}"))
    expected = np.array(expected, dtype.as_numpy_dtype)
    for form, body in FORMS.items():
        request = read(body % (text, MODES[mode]), {"x": (data_type, shape)})
        assert request.by_row is (form == "unnamed row")
        converted = request.arrays["x"]
        assert converted.dtype == expected.dtype
        np.testing.assert_array_equal(converted, expected, strict=True)


@pytest.mark.parametrize("shape", [(), None])
@pytest.mark.parametrize("mode", MODES)
def test_scalars_are_accepted(read, shape, mode):
    body = f'{{"inputs": 3{MODES[mode]}}}'
    for data_type in "float", "int64":
        converted = read(body, {"x": (data_type, shape)}).arrays["x"]
        assert converted.shape == () and converted == 3
    body = '{"inputs": {"b64": "YQ=="}}'
    assert read(body, {"x": ("string", shape)}).arrays["x"] == b"a"


INPUTS = {"a": ("float", (None,)), "b": ("string", (None, 1))}


def test_members_may_have_any_order_and_other_names(read):
    rows = '{"instances": [{"a": 1, "b": ["x"]}, {"b": [{"b64": "/w=="}], "a": 2}]}'
    columns = '{"inputs": {"b": [["x"], [{"b64": "/w=="}]], "a": [1, 2], "unknown": 3}}'
    for body in rows, columns:
        request = read(body, INPUTS)
        assert list(request.arrays) == ["a", "b"]
        assert request.arrays["a"].tolist() == [1, 2]
        assert request.arrays["b"].tolist() == [[b"x"], [b"\xff"]]


def test_signature_without_inputs_accepts_only_objects(read, error_of):
    for body in '{"instances": [{}]}', '{"inputs": {}}':
        assert read(body, {}).arrays == {}
    error_of('{"inputs": 3}', {})


ONE = {"x": ("float", (None,))}


@pytest.mark.parametrize(
    ("inputs", "body", "word"),
    [
        (ONE, '{"inputs": [1]} x', "Parse"),
        (ONE, '{"inputs": [NaN]}', "offset"),
        (ONE, '{"inputs": ["\\ud800"]}', "Parse"),
        (ONE, '{"instances": [{"x": 1}, {}]}', "Item 1"),
        (ONE, '{"instances": [{"x": 1}, {"x": "a"}]}', "float"),
        (INPUTS, '{"instances": [1]}', "keys a, b"),
        (INPUTS, '{"inputs": [1]}', "keys a, b"),
        (INPUTS, '{"inputs": {"a": [1]}}', "keys a, b"),
    ],
)
def test_wrong_documents_are_rejected(error_of, inputs, body, word):
    assert word in error_of(body, inputs)


@pytest.mark.parametrize(
    ("data_type", "word", "texts"),
    [
        ("float", "float", ["[1, -3.5e38]", "[1.5, true]", "[1, null]", '[1, {"b64": ""}]']),
        ("half", "half", ["[65536]"]),
        ("int64", "int64", [f"[{2**63}]", f"[{-(2**63) - 1}]", f"[{2**64}]"]),
        ("int32", "int32", ["[1, 2.0]", "[1, true]"]),
        ("uint8", "uint8", ["[-1]", "[256]"]),
        ("bool", "bool", ["[true, 1]", '["true"]']),
        ("string", "string", ["[1]", '["a", true]']),
        ("string", "base64", ['["a", {"b65": ""}]', '[{"b64": 1}]', '[{"b64": "", "c": 1}]']),
        (
            "string",
            "base64",
            [f'[{{"b64": "{s}"}}]' for s in ("*", "ü", "YQ=", "YQAAA", r"YQ\u00a0==")],
        ),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_values_of_the_wrong_type_are_rejected(error_of, data_type, word, texts, mode):
    for text in texts:
        body = FORMS["named column"] % (text, MODES[mode])
        assert word in error_of(body, {"x": (data_type, (None,))})


@pytest.mark.parametrize("data_type", ["float", "string"])
@pytest.mark.parametrize(
    ("text", "shape", "word"),
    [
        ("[[1, 2], [3]]", (None, 2), "sizes"),
        ("[[1], []]", None, "sizes"),
        ("[[], [1]]", (None, 0), "sizes"),
        ("[[1], 2]", (None, 1), "sizes"),
        ("[1, [2]]", (None,), "type"),
        ("[[1, 2], [3]]", (None, 3), "[2,2]"),
        ("[]", (None, 3), "[0]"),
        ("7", (None,), "[]"),
    ],
)
def test_wrong_shapes_are_rejected(error_of, data_type, text, shape, word):
    if data_type == "string":
        text = "".join(f'"{c}"' if c.isdecimal() else c for c in text)
    for mode in MODES.values():
        body = FORMS["named column"] % (text, mode)
        assert word in error_of(body, {"x": (data_type, shape)})


@pytest.mark.parametrize("data_type", ["float", "string"])
@pytest.mark.parametrize("shape", [(None,), None])
@pytest.mark.parametrize("levels", [33, 1000])
def test_deep_lists_are_rejected(error_of, data_type, shape, levels):
    for leaf in "", "1", '"a"':
        deep = "[" * levels + leaf + "]" * levels
        for text, member, form in itertools.product(
            (deep, f"[1, {deep}]"), MODES.values(), (*FORMS.values(), NAMED_ROW)
        ):
            error_of(form % (text, member), {"x": (data_type, shape)})


def test_deep_objects_are_rejected_with_a_short_message(error_of):
    deep = '{"x": ' * 900 + "1" + "}" * 900
    for body in deep, *(form % (deep, "") for form in (*FORMS.values(), NAMED_ROW)):
        assert len(error_of(body, {"x": ("float", (None,))})) < 500


def test_long_string_among_numbers_allocates_little_memory(error_of, little_memory):
    text = json.dumps(["x" * 20_000] + ["y"] * 1000)
    inputs = {"x": ("float", (None,))}
    with little_memory():
        message = error_of(f'{{"inputs": {text}}}', inputs)
    assert "float" in message and len(message) < 500


@pytest.mark.parametrize("body", ['{"instances": [1, 1, 1]}', '{"inputs": [1, 1, 1]}'])
def test_too_many_examples_are_not_converted(signature, monkeypatch, body):
    tested = signature({"x": ("float", (None,))}, {"y": ("float", (None,))})
    assert len(json_format.read(body.encode(), lambda name: tested, 3).arrays["x"]) == 3
    monkeypatch.setattr(json_format, "to_array", pytest.fail)
    with pytest.raises(StatusError, match="larger"):
        json_format.read(body.encode(), lambda name: tested, 2)
