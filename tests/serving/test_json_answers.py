import base64
import json

import numpy as np
import pytest

from elu_zoo.serving import json_format
from elu_zoo.serving.refusals import Refusal

FLOATS = np.array([0.1, 1 / 3, -3.4028235e38, 1e-45, 16777217, -0.0], np.float32)


def written(outputs, signature, *, by_row):
    made = signature({}, {name: ("float", None) for name in outputs})
    return json_format.write(outputs, made, by_row=by_row)


@pytest.fixture
def read_back(signature):
    """What a client finds in the answer, by row and by column."""

    def read_back(outputs):
        rows = json.loads(written(outputs, signature, by_row=True))
        columns = json.loads(written(outputs, signature, by_row=False))
        assert list(rows) == ["predictions"] and list(columns) == ["outputs"]
        return rows["predictions"], columns["outputs"]

    return read_back


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_numbers_come_back_as_they_were(read_back, dtype):
    with np.errstate(over="ignore"):
        values = FLOATS.astype(dtype)
    values = values[np.isfinite(values)]
    for content in read_back({"y": values}):
        got = np.array(content, np.float64).astype(dtype)
        assert got.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64],
)
def test_whole_numbers_come_back_as_they_were(read_back, dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 1, limits.max], dtype)
    assert read_back({"y": values}) == (values.tolist(), values.tolist())


def test_shapes_come_back_as_they_were(read_back):
    values = np.arange(24).reshape(2, 3, 4)
    for array in (
        values,
        values.T,
        values[:, ::2],
        values[:1],
        values[:, :0],
        values[:0],
    ):
        assert read_back({"y": array}) == (array.tolist(), array.tolist())


def test_truth_values(read_back):
    assert read_back({"y": np.array([True, False])})[0] == [True, False]


def test_texts_and_bytes(read_back):
    contents = [b'a"\\\n', "ü".encode(), b"", b"\xff\0"]
    values = np.array(contents, object)
    for got in read_back({"y": values}):
        assert got == ['a"\\\n', "ü", "", "\ufffd\0"]
    for got in read_back({"y_bytes": values.reshape(2, 2)}):
        assert [[base64.b64decode(v["b64"]) for v in row] for row in got] == [
            contents[:2],
            contents[2:],
        ]
        assert all(list(v) == ["b64"] for row in got for v in row)


def test_several_outputs(read_back):
    outputs = {
        "classes": np.array([3, 4]),
        "flags": np.array([True, False]),
        "half": np.array([0.5, 2], np.float16),
        "names_bytes": np.array([b"\xff", b""], object),
        "pairs": np.array([[0.1, 2], [3, 4]], np.float32),
        "small": np.array([0, 255], np.uint8),
        "words": np.array([[b"a"], [b"b"]], object),
    }
    rows, columns = read_back(outputs)
    assert columns == {
        "classes": [3, 4],
        "flags": [True, False],
        "half": [0.5, 2],
        "names_bytes": [{"b64": "/w=="}, {"b64": ""}],
        "pairs": [[0.1, 2], [3, 4]],
        "small": [0, 255],
        "words": [["a"], ["b"]],
    }
    assert rows == [
        {name: values[i] for name, values in columns.items()} for i in range(2)
    ]


@pytest.mark.parametrize(
    "shapes", [((2,), (3,)), ((2,), ()), ((2, 1), (1, 2)), ((), ())]
)
def test_rows_need_a_common_number_of_examples(signature, shapes):
    outputs = {name: np.ones(shape) for name, shape in zip("ab", shapes, strict=True)}
    with pytest.raises(Refusal) as refused:
        written(outputs, signature, by_row=True)
    assert refused.value.http_status == 400
    assert refused.value.message == "Outputs a,b have inconsistent batch size"
    columns = json.loads(written(outputs, signature, by_row=False))["outputs"]
    assert columns == {name: array.tolist() for name, array in outputs.items()}


def test_outputs_without_dimensions(loaded):
    alone = loaded.signatures["alone"]
    answer = alone.run([{"numbers": np.array([0.5, 1, 2], np.float32)}])[0]
    assert json.loads(json_format.write(answer, alone, by_row=False)) == {
        "outputs": {"total": 3.5, "word": "0.500000"}
    }
    with pytest.raises(Refusal, match="inconsistent batch size"):
        json_format.write(answer, alone, by_row=True)


# JSON has no other word for them.
def test_numbers_that_are_not_finite_are_null(read_back):
    values = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    assert read_back({"y": values})[0] == [1, None, None, None]


def test_a_request_through_a_signature_and_back(loaded):
    mixed = loaded.signatures["serving_default"]
    rows = [
        {
            "reals": [0.1, -1.5],
            "longs": 2**62,
            "ints": [[i], [-5]],
            "small": 255,
            "flags": True,
            "texts": "ü",
        }
        for i in range(3)
    ]
    body = json.dumps({"instances": rows}).encode()
    request = json_format.read(body, lambda name: loaded.signature(name), 10**6)
    answer = mixed.run([request.arrays])[0]
    content = json.loads(json_format.write(answer, mixed, by_row=request.by_row))
    assert content["predictions"] == [
        {
            "reals": [0.2, -3.0],
            "longs": 2**62 + 1,
            "ints": [[i - 1], [-6]],
            "small": 127,
            "flags": False,
            "texts": "ü!",
            "texts_bytes": {"b64": base64.b64encode("ü".encode() + b"\xff").decode()},
        }
        for i in range(3)
    ]
