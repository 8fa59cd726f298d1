"""JSON requests are converted to arrays, and wrong requests raise errors.

Errors for models with one image input are tested in tests/serving_conformance.
"""

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
LARGEST = "9223372036854775807"  # int64
ELEMENT = "Failed to process element:"


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


def dtype_of(data_type):
    return tf.as_dtype(types_pb2.DataType.Value(f"DT_{data_type.upper()}"))


@pytest.mark.parametrize(
    ("data_type", "shape", "text", "expected"),
    [
        ("float", (None,), "[1, 2.5, -0.0, 1e-60]", [1, 2.5, 0, 0]),
        ("float", (None,), "[16777217, 1e38]", [2**24, 1e38]),
        ("float", (None,), "[3.4028234663852886e38]", [np.finfo(np.float32).max]),
        ("double", (None,), "[9007199254740993, 1.7e308]", [2**53, 1.7e308]),
        ("half", (None,), "[2049, -65504]", [2048, -65504]),
        ("int64", (None,), f"[{LARGEST}, -{LARGEST[:-1]}8]", [2**63 - 1, -(2**63)]),
        ("int32", (None,), "[2147483647, -2147483648]", [2**31 - 1, -(2**31)]),
        ("uint8", (None,), "[0, 255]", [0, 255]),
        ("uint64", (None,), "[18446744073709551615, 0]", [2**64 - 1, 0]),
        ("bool", (2, 1), "[[false], [true]]", [[False], [True]]),
        ("string", (None,), '["a", "", "ü"]', [b"a", b"", "ü".encode()]),
        ("string", (None,), '[{"b64": "AP8="}, "a"]', [b"\0\xff", b"a"]),
        ("string", (None,), '[{"b64": "YQ"}, {"b64": "YWI"}]', [b"a", b"ab"]),
        (
            "string",
            (None,),
            r'[{"b64": "Y\tQ\r\n=\u000b=\f "}, {"b64": " "}]',
            [b"a", b""],
        ),
        ("float", (None, 2, 1), "[[[1], [2]]]", [[[1], [2]]]),
        ("float", (None, None), "[[], []]", [[], []]),
        ("string", (None, None), "[[], []]", [[], []]),
        ("float", None, "[" * 32 + "1" + "]" * 32, np.ones((1,) * 32)),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_values_are_converted_to_the_declared_type(read, data_type, shape, text, expected, mode):
    expected = np.array(expected, dtype_of(data_type).as_numpy_dtype)
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
ROWS = '[{"a": 1, "b": ["x"]}, {"b": [{"b64": "/w=="}], "a": 2}]'
COLUMNS = '{"b": [["x"], [{"b64": "/w=="}]], "a": [1, 2], "unknown": 3}'


@pytest.mark.parametrize("key", ["instances", "inputs"])
def test_several_inputs_are_read_by_name(read, key):
    text = {"instances": ROWS, "inputs": COLUMNS}[key]
    request = read(f'{{"{key}": {text}}}', INPUTS)
    assert request.by_row is (key == "instances")
    assert list(request.arrays) == ["a", "b"]
    assert request.arrays["a"].tolist() == [1, 2]
    assert request.arrays["b"].tolist() == [[b"x"], [b"\xff"]]


@pytest.mark.parametrize(("member", "name"), [("", ""), ('"signature_name": "n",', "n")])
def test_signature_name_is_read_from_the_body(signature, member, name):
    names, declared = [], signature({"x": ("float", (None,))})

    def get_signature(name):
        names.append(name)
        return declared

    json_format.read(f'{{{member} "inputs": [1]}}'.encode(), get_signature, 10**6)
    assert names == [name]


def test_signature_without_inputs_accepts_only_objects(read, error_of):
    for body in '{"instances": [{}]}', '{"inputs": {}}':
        assert read(body, {}).arrays == {}
    error_of('{"inputs": 3}', {})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"inputs": [1]} x', "JSON Parse error: unexpected content after document"),
        ('{"inputs": [NaN]}', "at offset: 12"),
        ('{"inputs": ["\\ud800"]}', "JSON Parse error: "),
        ("[1]", "JSON Value: [1] Is not object"),
        (
            '{"inputs": 1, "instances": 2}',
            'JSON Value: {"inputs":1,"instances":2} Not formatted correctly expecting '
            "only one of 'inputs' or 'instances' keys to exist ",
        ),
        (
            '{"instances": [{"x": 1}, {"y": 1}]}',
            f"{ELEMENT} 1 key: y of 'instances' list. Error: INVALID_ARGUMENT: "
            "JSON object: does not have named input: y",
        ),
        (
            '{"instances": [{"x": 1}, {}]}',
            f"{ELEMENT} 1 of 'instances' list. JSON object: {{}} keys must be equal to: x",
        ),
        (
            '{"instances": [{"x": 1}, {"x": "a"}]}',
            f"{ELEMENT} 1 key: x of 'instances' list. Error: INVALID_ARGUMENT: "
            'JSON Value: "a" Type: String is not of expected type: float',
        ),
        ('{"inputs": []}', "Shape of tensor x [0] is not compatible"),
    ],
)
def test_wrong_documents_are_rejected(error_of, body, text):
    assert text in error_of(body, {"x": ("float", (None,))})


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("[[1, 2], [3, 4, 5]]", "1{} Expecting tensor size: 2 but got: 3"),
        ("[[1, 2], [[3, 4]]]", "1{} Expecting shape [2] but got: [1,2]"),
        ("[[1, 2], [3, [4]]]", "1{} Encountered list at unexpected level: 1 expected"),
    ],
)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_rows_of_different_sizes_are_rejected(error_of, rows, text, mode):
    middle = " of 'instances' list. Error: INVALID_ARGUMENT:"
    body = f'{{"instances": {rows}{mode}}}'
    expected = f"{ELEMENT} {text.format(middle)}"
    assert error_of(body, {"x": ("float", (None, 2))}).startswith(expected)


def test_several_inputs_must_be_named(error_of):
    assert error_of('{"instances": [1]}', INPUTS) == (
        "instances is a plain list, but expecting list of objects as multiple input "
        "tensors required as per tensorinfo_map"
    )
    assert error_of('{"inputs": [1]}', INPUTS) == (
        "inputs is a plain value/list, but expecting an object as multiple input "
        "tensors required as per tensorinfo_map"
    )
    assert "Missing named input: b" in error_of('{"inputs": {"a": [1]}}', INPUTS)


# The messages are those of TensorFlow Serving.
LOSS = "Cannot convert JSON value: {} to {} without loss of precision."
TYPE = "JSON Value: {} Type: {} is not of expected type: {}"
BASE64 = "JSON Value: {} not formatted correctly for base64 data"
SIZE = "Encountered list at unexpected size: {} at level: {} expected size: {}"


@pytest.mark.parametrize(
    ("data_type", "text", "expected"),
    [
        ("float", "[1, -3.5e38]", LOSS.format("-3.5e+38", "float")),
        ("half", "[65536]", LOSS.format(65536, "half")),
        ("float", "[1.5, true]", TYPE.format("true", "Boolean", "float")),
        ("float", "[1, null]", TYPE.format("null", "Null", "float")),
        ("float", '["1.5"]', TYPE.format('"1.5"', "String", "float")),
        ("float", '[1, {"b64": ""}]', TYPE.format('{"b64":""}', "Object", "float")),
        ("int64", "[9223372036854775808]", TYPE.format(2**63, "Number", "int64")),
        ("int64", "[-9223372036854775809]", "is not of expected type: int64"),
        ("int64", "[18446744073709551616]", "is not of expected type: int64"),
        ("int32", "[1, 2.0]", TYPE.format("2.0", "Number", "int32")),
        ("int32", "[1, true]", TYPE.format("true", "Boolean", "int32")),
        ("uint8", "[-1]", TYPE.format(-1, "Number", "uint8")),
        ("uint8", "[256]", TYPE.format(256, "Number", "uint8")),
        ("bool", "[true, 1]", TYPE.format(1, "Number", "bool")),
        ("bool", '["true"]', TYPE.format('"true"', "String", "bool")),
        ("string", "[1]", TYPE.format(1, "Number", "string")),
        ("string", '["a", true]', TYPE.format("true", "Boolean", "string")),
        ("string", '["a", {"b65": ""}]', BASE64.format('{"b65":""}')),
        ("string", '[{"b64": 1}]', BASE64.format('{"b64":1}')),
        ("string", '["a", {"b64": "", "c": 1}]', BASE64.format('{"b64":"","c":1}')),
        ("string", '[{"b64": "*"}]', "Unable to base64 decode"),
        ("string", '[{"b64": "ü"}]', "Unable to base64 decode"),
        ("string", r'[{"b64": "YQ\u00a0=="}]', "Unable to base64 decode"),
        ("string", '[{"b64": "YQ="}]', "Unable to base64 decode"),
        ("string", '[{"b64": "YQAAA"}]', "Unable to base64 decode"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_values_of_the_wrong_type_are_rejected(error_of, data_type, text, expected, mode):
    body = FORMS["named column"] % (text, MODES[mode])
    assert expected in error_of(body, {"x": (data_type, (None,))})


@pytest.mark.parametrize("data_type", ["float", "string"])
@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("[[1, 2], [3]]", (None, 2), SIZE.format(1, 1, 2)),
        ("[[1], []]", None, SIZE.format(0, 1, 1)),
        ("[[], [1]]", (None, 0), SIZE.format(1, 1, 0)),
        ("[[1], 2]", (None, 1), "at incorrect level: 2 in the JSON DOM. Expected"),
        ("[1, [2]]", (None,), "Encountered list at unexpected level: 1 expected < 1"),
        ("[[1, 2], [3]]", (None, 3), "Shape of tensor x [2,2] is not compatible"),
        ("[]", (None, 3), "Shape of tensor x [0] is not compatible"),
        ("7", (None,), "Shape of tensor x [] is not compatible"),
    ],
)
def test_wrong_shapes_are_rejected(error_of, data_type, text, shape, expected):
    if data_type == "string":
        text = "".join(f'"{c}"' if c.isdecimal() else c for c in text)
    for mode in MODES.values():
        body = FORMS["named column"] % (text, mode)
        assert expected in error_of(body, {"x": (data_type, shape)})
