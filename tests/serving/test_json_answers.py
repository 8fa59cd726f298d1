import base64
import json

import numpy as np
import pytest

from elu_zoo.serving import json_format
from elu_zoo.serving.status_errors import StatusError


def written(outputs, signature, *, by_row):
    made = signature({}, {name: ("float", None) for name in outputs})
    return json.loads(json_format.write(outputs, made, by_row=by_row))


@pytest.fixture
def read_back(signature):
    """Writes outputs in both formats; returns rows and columns as a client reads."""

    def read_back(outputs):
        rows = written(outputs, signature, by_row=True)
        columns = written(outputs, signature, by_row=False)
        assert list(rows) == ["predictions"] and list(columns) == ["outputs"]
        return rows["predictions"], columns["outputs"]

    return read_back


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_numbers_keep_their_bits(read_back, dtype):
    with np.errstate(over="ignore"):
        values = np.array([0.1, 1 / 3, -3.4028235e38, 1e-45, -0.0]).astype(dtype)
    values = values[np.isfinite(values)]
    for content in read_back({"y": values}):
        got = np.array(content, np.float64).astype(dtype)
        assert got.tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.uint64])
def test_whole_numbers_keep_their_value(read_back, dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 1, limits.max], dtype)
    assert read_back({"y": values}) == (values.tolist(), values.tolist())


def test_shapes(read_back):
    values = np.arange(24).reshape(2, 3, 4)
    for array in values, values.T, values[:, ::2], values[:, :0], values[:0]:
        assert read_back({"y": array}) == (array.tolist(), array.tolist())


def test_texts_and_bytes(read_back):
    contents = [b'a"\\\n', "ü".encode(), b"", b"\xff\0"]
    values = np.array(contents, object)
    for got in read_back({"y": values}):
        assert got == ['a"\\\n', "ü", "", "\ufffd\0"]
    expected = [{"b64": base64.b64encode(content).decode()} for content in contents]
    for got in read_back({"y_bytes": values.reshape(2, 2)}):
        assert got == [expected[:2], expected[2:]]


def test_several_outputs(read_back):
    outputs = {
        "classes": np.array([3, 4]),
        "flags": np.array([True, False]),
        "half": np.array([0.5, 2], np.float16),
        "names_bytes": np.array([b"\xff", b""], object),
        "pairs": np.array([[0.1, 2], [3, 4]], np.float32),
        "words": np.array([[b"a"], [b"b"]], object),
    }
    rows, columns = read_back(outputs)
    assert columns == {
        "classes": [3, 4],
        "flags": [True, False],
        "half": [0.5, 2],
        "names_bytes": [{"b64": "/w=="}, {"b64": ""}],
        "pairs": [[0.1, 2], [3, 4]],
        "words": [["a"], ["b"]],
    }
    assert rows == [
        {name: values[i] for name, values in columns.items()} for i in range(2)
    ]


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((2,), ()), ((), ())])
def test_rows_need_a_common_number_of_examples(signature, shapes):
    outputs = {name: np.ones(shape) for name, shape in zip("ab", shapes, strict=True)}
    with pytest.raises(StatusError) as raised:
        written(outputs, signature, by_row=True)
    assert raised.value.http_status == 400
    assert raised.value.message == "Outputs a,b have inconsistent batch size"
    columns = written(outputs, signature, by_row=False)["outputs"]
    assert columns == {name: array.tolist() for name, array in outputs.items()}


def test_outputs_without_dimensions(loaded):
    alone = loaded.signatures["alone"]
    answer = alone.run([{"numbers": np.array([0.5, 1, 2], np.float32)}])[0]
    assert json.loads(json_format.write(answer, alone, by_row=False)) == {
        "outputs": {"total": 3.5, "word": "0.500000"}
    }
    with pytest.raises(StatusError, match="inconsistent batch size"):
        json_format.write(answer, alone, by_row=True)


def test_numbers_that_are_not_finite_are_null(read_back):
    values = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    assert read_back({"y": values})[0] == [1, None, None, None]


def test_a_request_and_its_answer(loaded):
    mixed = loaded.signatures["serving_default"]
    row = {
        "reals": [0.1, -1.5],
        "longs": 2**62,
        "ints": [[7], [-5]],
        "small": 255,
        "flags": True,
        "texts": "ü",
    }
    body = json.dumps({"instances": [row] * 3}).encode()
    request = json_format.read(body, loaded.signature, 10**6)
    answer = mixed.run([request.arrays])[0]
    content = json.loads(json_format.write(answer, mixed, by_row=request.by_row))
    expected = {
        "reals": [0.2, -3.0],
        "longs": 2**62 + 1,
        "ints": [[6], [-6]],
        "small": 127,
        "flags": False,
        "texts": "ü!",
        "texts_bytes": {"b64": base64.b64encode("ü".encode() + b"\xff").decode()},
    }
    assert content["predictions"] == [expected] * 3
