import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from elu_zoo.serving import json_format
from elu_zoo.serving.refusals import Refusal

# Fast, and with a truth value anywhere leaf by leaf.
PATHS = {"fast": "", "by leaf": ', "other": true'}
FORMS = {
    "plain row": '{"instances": %s%s}',
    "plain column": '{"inputs": %s%s}',
    "named column": '{"inputs": {"x": %s}%s}',
}
LONGEST = "9223372036854775807"
ELEMENT = "Failed to process element:"


@pytest.fixture
def read(signature):
    """Reads a body by a signature of the inputs {name: (DataType, shape)}."""

    def read(body, inputs):
        made = signature(inputs)
        request = json_format.read(body.encode(), lambda name: made, 10**6)
        assert request.signature is made
        return request

    return read


@pytest.fixture
def refused(read):
    def refused(body, inputs):
        with pytest.raises(Refusal) as raised:
            read(body, inputs)
        assert raised.value.http_status == 400
        return raised.value.message

    return refused


def dtype_of(data_type):
    return tf.as_dtype(types_pb2.DataType.Value(f"DT_{data_type.upper()}"))


@pytest.mark.parametrize(
    ("data_type", "shape", "text", "expected"),
    [
        ("float", (None,), "[1, 2.5, -0.0, 1e-60]", [1, 2.5, 0, 0]),
        ("float", (None,), "[16777215, -16777215]", [2**24 - 1, 1 - 2**24]),
        ("float", (None,), "[16777216.0, 1e38]", [2**24, 1e38]),
        ("float", (None,), "[16777217, -16777219]", [2**24, -(2**24) - 4]),
        ("float", (None,), "[0.5, 16777217]", [0.5, 2**24]),
        ("double", (None,), "[9007199254740993]", [2**53]),
        ("half", (None,), "[2049, -65504]", [2048, -65504]),
        ("float", (None,), "[3.4028234663852886e38]", [np.finfo(np.float32).max]),
        ("double", (None,), "[9007199254740991, 1.7e308]", [2**53 - 1, 1.7e308]),
        ("half", (None,), "[2047, 65504.0]", [2047, 65504]),
        ("int64", (None,), f"[{LONGEST}, -{LONGEST[:-1]}8]", [2**63 - 1, -(2**63)]),
        ("int32", (None,), "[2147483647, -2147483648]", [2**31 - 1, -(2**31)]),
        ("uint8", (None,), "[0, 255]", [0, 255]),
        ("uint64", (None,), "[18446744073709551615, 0]", [2**64 - 1, 0]),
        ("bool", (None,), "[true, false]", [True, False]),
        ("bool", (2, 1), "[[false], [true]]", [[False], [True]]),
        ("string", (None,), '["a", "", "ü"]', [b"a", b"", "ü".encode()]),
        ("string", (None,), '[{"b64": "AP8="}, "a"]', [b"\0\xff", b"a"]),
        ("string", (None,), '[{"b64": "YQ"}, {"b64": "YWI"}]', [b"a", b"ab"]),
        ("string", (None, 2), '[["a", {"b64": ""}]]', [[b"a", b""]]),
        ("float", (None, 2, 1), "[[[1], [2]]]", [[[1], [2]]]),
        ("float", (None, None), "[[], []]", [[], []]),
        ("int32", (None, None), "[[], []]", [[], []]),
        ("string", (None, None), "[[], []]", [[], []]),
        ("float", (2,), "[1, 2]", [1, 2]),
        ("float", None, "[[1, 2]]", [[1, 2]]),
        ("float", None, "[" * 32 + "1" + "]" * 32, np.ones((1,) * 32)),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_reads(read, data_type, shape, text, expected, path):
    expected = np.array(expected, dtype_of(data_type).as_numpy_dtype)
    for form, body in FORMS.items():
        request = read(body % (text, PATHS[path]), {"x": (data_type, shape)})
        assert request.by_row is (form == "plain row")
        got = request.arrays["x"]
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("shape", [(), None])
@pytest.mark.parametrize("path", PATHS)
def test_reads_a_value_alone(read, shape, path):
    body = f'{{"inputs": 3{PATHS[path]}}}'
    for data_type in "float", "int64":
        got = read(body, {"x": (data_type, shape)}).arrays["x"]
        assert got.shape == () and got == 3
    body = '{"inputs": {"b64": "YQ=="}}'
    assert read(body, {"x": ("string", shape)}).arrays["x"] == b"a"


INPUTS = {"a": ("float", (None,)), "b": ("string", (None, 1))}
ROWS = '[{"a": 1, "b": ["x"]}, {"b": [{"b64": "/w=="}], "a": 2}]'
COLUMNS = '{"b": [["x"], [{"b64": "/w=="}]], "a": [1, 2], "unknown": 3}'


@pytest.mark.parametrize("key", ["instances", "inputs"])
def test_reads_several_inputs(read, key):
    text = {"instances": ROWS, "inputs": COLUMNS}[key]
    request = read(f'{{"{key}": {text}}}', INPUTS)
    assert request.by_row is (key == "instances")
    assert list(request.arrays) == ["a", "b"]
    assert request.arrays["a"].tolist() == [1, 2]
    assert request.arrays["b"].tolist() == [[b"x"], [b"\xff"]]


def test_reads_named_rows_of_one_input(read):
    request = read('{"instances": [{"x": 1}, {"x": 2}]}', {"x": ("float", (None,))})
    assert request.arrays["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("member", "name"), [("", ""), ('"signature_name": "n",', "n")]
)
def test_asks_for_the_signature(signature, member, name):
    asked, made = [], signature({"x": ("float", (None,))})

    def find(name):
        asked.append(name)
        return made

    json_format.read(f'{{{member} "inputs": [1]}}'.encode(), find, 10**6)
    assert asked == [name]


@pytest.mark.parametrize("body", ['{"instances": [{}]}', '{"inputs": {}}'])
def test_a_signature_without_inputs(read, body):
    assert read(body, {}).arrays == {}


def test_a_value_for_a_signature_without_inputs(refused):
    refused('{"inputs": 3}', {})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "JSON Parse error: The document is empty"),
        ("{", "JSON Parse error: "),
        ('{"inputs": [1]} x', "JSON Parse error: unexpected content after document"),
        ('{"inputs": [NaN]}', "at offset: 12"),
        ('{"inputs": [1e400]}', "JSON Parse error: number is infinity"),
        ('{"inputs": ["\\ud800"]}', "JSON Parse error: "),
        ("[1]", "JSON Value: [1] Is not object"),
        ("7", "JSON Value: 7 Is not object"),
        (
            '{"signature_name": 7, "inputs": [1]}',
            "'signature_name' key must be a string",
        ),
        ("{}", "Missing 'inputs' or 'instances' key"),
        (
            '{"inputs": 1, "instances": 2}',
            'JSON Value: {"inputs":1,"instances":2} Not formatted correctly expecting '
            "only one of 'inputs' or 'instances' keys to exist ",
        ),
        ('{"instances": 1}', "Excepting 'instances' to be an list/array"),
        ('{"instances": {"x": [1]}}', "Excepting 'instances' to be an list/array"),
        ('{"instances": []}', "No values in 'instances' array"),
        (
            '{"instances": [1, {"x": 1}]}',
            "Expecting value/list but got object at item 1 of input list",
        ),
        (
            '{"instances": [{"x": 1}, 1]}',
            "Expecting object but got list at item 1 of input list",
        ),
        (
            '{"instances": [{"x": 1}, {"y": 1}]}',
            f"{ELEMENT} 1 key: y of 'instances' list. Error: INVALID_ARGUMENT: "
            "JSON object: does not have named input: y",
        ),
        (
            '{"instances": [{"x": 1, "y": 1}]}',
            "JSON object: does not have named input: y",
        ),
        (
            '{"instances": [{"x": 1}, {}]}',
            f"{ELEMENT} 1 of 'instances' list. JSON object: {{}} keys must be equal "
            "to: x",
        ),
        (
            '{"instances": [{"x": 1}, {"x": "a"}]}',
            f"{ELEMENT} 1 key: x of 'instances' list. Error: INVALID_ARGUMENT: "
            'JSON Value: "a" Type: String is not of expected type: float',
        ),
        (
            '{"instances": [1, 3.5e38]}',
            f"{ELEMENT} 1 of 'instances' list. Error: INVALID_ARGUMENT: Cannot convert",
        ),
        ('{"inputs": {"y": [1]}}', "Missing named input: x in 'inputs' object."),
        ('{"inputs": []}', "Shape of tensor x [0] is not compatible"),
    ],
)
def test_other_documents(refused, body, text):
    assert text in refused(body, {"x": ("float", (None,))})


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("[[1, 2], [3, 4, 5]]", "1{} Expecting tensor size: 2 but got: 3"),
        ("[[1, 2], 3]", "1{} Expecting tensor size: 2 but got: 1"),
        ("[[1, 2], [[3, 4]]]", "1{} Expecting shape [2] but got: [1,2]"),
        ("[[1, 2], [3, [4]]]", "1{} Encountered list at unexpected level: 1 expected"),
        ("[[1, 2], [3, null]]", "1{} JSON Value: null Type: Null is not of expected"),
    ],
)
@pytest.mark.parametrize("path", PATHS.values())
def test_rows_of_other_sizes(refused, rows, text, path):
    error = " of 'instances' list. Error: INVALID_ARGUMENT:"
    body = f'{{"instances": {rows}{path}}}'
    expected = f"{ELEMENT} {text.format(error)}"
    assert refused(body, {"x": ("float", (None, 2))}).startswith(expected)


def test_bytes_that_are_no_text(signature):
    with pytest.raises(Refusal, match="JSON Parse error: str is not valid UTF-8"):
        json_format.read(b'{"inputs": ["\xff"]}', lambda name: signature(INPUTS), 10**6)


def test_plain_values_for_several_inputs(refused):
    assert refused('{"instances": [1]}', INPUTS) == (
        "instances is a plain list, but expecting list of objects as multiple input "
        "tensors required as per tensorinfo_map"
    )
    assert refused('{"inputs": [1]}', INPUTS) == (
        "inputs is a plain value/list, but expecting an object as multiple input "
        "tensors required as per tensorinfo_map"
    )
    assert "Missing named input: b" in refused('{"inputs": {"a": [1]}}', INPUTS)


LOSS = "Cannot convert JSON value: {} to {} without loss of precision."
TYPE = "JSON Value: {} Type: {} is not of expected type: {}"
BASE64 = "JSON Value: {} not formatted correctly for base64 data"
SIZE = "Encountered list at unexpected size: {} at level: {} expected size: {}"


@pytest.mark.parametrize(
    ("data_type", "text", "expected"),
    [
        ("float", "[1, 3.5e38]", "to float without loss of precision."),
        ("float", "[-3.5e38]", "Cannot convert JSON value: -3.5e"),
        ("half", "[65536]", LOSS.format(65536, "half")),
        ("half", "[65536.0]", LOSS.format("65536.0", "half")),
        ("float", "[1.5, true]", TYPE.format("true", "Boolean", "float")),
        ("float", "[1, null]", TYPE.format("null", "Null", "float")),
        ("float", '["1.5"]', TYPE.format('"1.5"', "String", "float")),
        ("float", '[1, {"b64": ""}]', TYPE.format('{"b64":""}', "Object", "float")),
        ("int64", "[9223372036854775808]", TYPE.format(2**63, "Number", "int64")),
        ("int64", "[-9223372036854775809]", "is not of expected type: int64"),
        ("int64", "[18446744073709551616]", "is not of expected type: int64"),
        ("int32", "[2147483648]", TYPE.format(2**31, "Number", "int32")),
        ("int32", "[1.0]", TYPE.format("1.0", "Number", "int32")),
        ("int32", "[1, 2.0]", TYPE.format("2.0", "Number", "int32")),
        ("int32", "[1, true]", TYPE.format("true", "Boolean", "int32")),
        ("int32", '["1"]', TYPE.format('"1"', "String", "int32")),
        ("uint8", "[-1]", TYPE.format(-1, "Number", "uint8")),
        ("uint8", "[256]", TYPE.format(256, "Number", "uint8")),
        ("uint64", "[1, -1]", TYPE.format(-1, "Number", "uint64")),
        ("bool", "[1, 0]", TYPE.format(1, "Number", "bool")),
        ("bool", "[true, 1]", TYPE.format(1, "Number", "bool")),
        ("bool", "[1.0]", TYPE.format("1.0", "Number", "bool")),
        ("bool", '["true"]', TYPE.format('"true"', "String", "bool")),
        ("string", "[1]", TYPE.format(1, "Number", "string")),
        ("string", '["a", true]', TYPE.format("true", "Boolean", "string")),
        ("string", "[null]", TYPE.format("null", "Null", "string")),
        ("string", '["a", {"b65": ""}]', BASE64.format('{"b65":""}')),
        ("string", '[{"b64": 1}]', BASE64.format('{"b64":1}')),
        ("string", '["a", {"b64": "", "c": 1}]', BASE64.format('{"b64":"","c":1}')),
        ("string", '[{"b64": "*"}]', "Unable to base64 decode"),
        ("string", '[{"b64": "YQ==="}]', "Unable to base64 decode"),
        ("string", '[{"b64": "ü"}]', "Unable to base64 decode"),
        ("string", '[{"b64": "YQ="}]', "Unable to base64 decode"),
        ("string", '[{"b64": "YQAAA"}]', "Unable to base64 decode"),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_values_that_do_not_fit(refused, data_type, text, expected, path):
    body = FORMS["named column"] % (text, PATHS[path])
    assert expected in refused(body, {"x": (data_type, (None,))})


@pytest.mark.parametrize("data_type", ["float", "int32", "string"])
@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("[[1, 2], [3]]", (None, 2), SIZE.format(1, 1, 2)),
        ("[[1], [2, 3]]", (None, None), SIZE.format(2, 1, 1)),
        ("[[1], []]", None, SIZE.format(0, 1, 1)),
        ("[[], [1]]", (None, 0), SIZE.format(1, 1, 0)),
        (
            "[[1], 2]",
            (None, 1),
            "found at incorrect level: 2 in the JSON DOM. Expected",
        ),
        ("[1, [2]]", (None,), "Encountered list at unexpected level: 1 expected < 1"),
        ("[1, [[2]]]", None, "Encountered list at unexpected level: 1 expected < 1"),
        ("[1, 2]", (3,), "Shape of tensor x [2] is not compatible"),
        ("[[1, 2]]", (None, 3), "Shape of tensor x [1,2] is not compatible"),
        ("[[1, 2], [3]]", (None, 3), "Shape of tensor x [2,2] is not compatible"),
        ("[]", (None, 3), "Shape of tensor x [0] is not compatible"),
        ("7", (None,), "Shape of tensor x [] is not compatible"),
    ],
)
def test_shapes_that_do_not_fit(refused, data_type, text, shape, expected):
    if data_type == "string":
        text = "".join(f'"{c}"' if c.isdecimal() else c for c in text)
    for path in PATHS.values():
        body = FORMS["named column"] % (text, path)
        assert expected in refused(body, {"x": (data_type, shape)})
