"""Outputs are written as JSON in TensorFlow Serving's row and column formats."""

import base64
import json

import numpy as np
import pytest

from elu_zoo.serving import json_format
from elu_zoo.serving.status_errors import StatusError


def write_json(outputs, signature, *, by_row):
    declared = signature({}, {name: ("float", None) for name in outputs})
    return json.loads(json_format.write(outputs, declared, by_row=by_row))


@pytest.fixture
def round_trip(signature):
    """Returns a function from outputs to the parsed JSON of both formats."""

    def round_trip(outputs):
        rows = write_json(outputs, signature, by_row=True)
        columns = write_json(outputs, signature, by_row=False)
        assert list(rows) == ["predictions"] and list(columns) == ["outputs"]
        return rows["predictions"], columns["outputs"]

    return round_trip


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_numbers_keep_their_bits(round_trip, dtype):
    with np.errstate(over="ignore"):
        values = np.array([0.1, 1 / 3, -3.4028235e38, 1e-45, -0.0]).astype(dtype)
    values = values[np.isfinite(values)]
    for content in round_trip({"y": values}):
        returned = np.array(content, np.float64).astype(dtype)
        assert returned.tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_whole_numbers_keep_their_value(round_trip, dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 1, limits.max], dtype)
    assert round_trip({"y": values}) == (values.tolist(), values.tolist())


def test_shapes_are_preserved(round_trip):
    values = np.arange(24).reshape(2, 3, 4)
    for array in values, values.T, values[:, ::2], values[:, :0], values[:0]:
        assert round_trip({"y": array}) == (array.tolist(), array.tolist())


def test_numbers_that_are_not_finite_are_null(round_trip):
    values = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    assert round_trip({"y": values})[0] == [1, None, None, None]


def test_strings_are_text_or_base64(round_trip):
    contents = [b'a"\\\n', "ü".encode(), b"", b"\xff\0"]
    values = np.array(contents, object)
    for returned in round_trip({"y": values}):
        assert returned == ['a"\\\n', "ü", "", "\ufffd\0"]
    expected = [{"b64": base64.b64encode(content).decode()} for content in contents]
    for returned in round_trip({"y_bytes": values.reshape(2, 2)}):
        assert returned == [expected[:2], expected[2:]]


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2,), ()), ((), ())])
def test_row_format_needs_equal_numbers_of_examples(signature, shapes):
    outputs = {name: np.ones(shape) for name, shape in zip("ab", shapes, strict=True)}
    with pytest.raises(StatusError, match="batch size") as raised:
        write_json(outputs, signature, by_row=True)
    assert raised.value.http_status == 400
    columns = write_json(outputs, signature, by_row=False)["outputs"]
    assert columns == {name: array.tolist() for name, array in outputs.items()}


# The outputs of the model `mixed` for ROW.
ROW = {
    "reals": [0.1, -1.5],
    "longs": 2**62,
    "ints": [[7], [-5]],
    "small": 255,
    "flags": True,
    "texts": "ü",
}
ANSWER = {
    "reals": [0.2, -3.0],
    "longs": 2**62 + 1,
    "ints": [[6], [-6]],
    "small": 127,
    "flags": False,
    "texts": "ü!",
    "texts_bytes": {"b64": base64.b64encode("ü".encode() + b"\xff").decode()},
}


def test_several_inputs_and_outputs_of_all_types_are_named(loaded):
    mixed = loaded.signatures["serving_default"]
    bodies = {"instances": [ROW] * 3}, {"inputs": {name: [ROW[name]] * 3 for name in ROW}}
    answers = []
    for body in bodies:
        request = json_format.read(json.dumps(body).encode(), loaded.signature, 10**6)
        result = mixed.run([request.arrays])[0]
        answers.append(json.loads(json_format.write(result, mixed, by_row=request.by_row)))
    assert answers[0] == {"predictions": [ANSWER] * 3}
    assert answers[1] == {"outputs": {name: [value] * 3 for name, value in ANSWER.items()}}
