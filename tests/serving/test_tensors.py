"""TensorProtos are read as arrays, and arrays are written as TensorProtos."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from elu_zoo.serving import tensors
from elu_zoo.serving.status_errors import StatusError

# type: (field of a TensorProto that stores values of the type, example values).
NUMBERS = {
    "float": ("float_val", [0.1, -3e38, 1e-45]),
    "double": ("double_val", [0.1, -1e308, 5e-324]),
    "int8": ("int_val", [-128, 0, 127]),
    "int16": ("int_val", [-(2**15), 0, 2**15 - 1]),
    "int32": ("int_val", [-(2**31), 0, 2**31 - 1]),
    "uint8": ("int_val", [0, 1, 255]),
    "int64": ("int64_val", [-(2**63), 0, 2**63 - 1]),
    "uint32": ("uint32_val", [0, 1, 2**32 - 1]),
    "uint64": ("uint64_val", [0, 1, 2**64 - 1]),
    "bool": ("bool_val", [True, False, True]),
}
STRINGS = [b"", b"a\x00\xff", "ü".encode()]
VALUES = {name: values for name, (_, values) in NUMBERS.items()} | {"string": STRINGS}


def number_of(data_type):
    return types_pb2.DataType.Value(f"DT_{data_type.upper()}")


def array_of(data_type, values):
    return np.array(values, tf.as_dtype(number_of(data_type)).as_numpy_dtype)


def proto_of(data_type, shape, content=b"", **fields):
    proto = tensor_pb2.TensorProto(tensor_content=content, **fields)
    proto.dtype = number_of(data_type) if isinstance(data_type, str) else data_type
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def assert_equal(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.fixture
def read(signature):
    """Returns a function that reads a TensorProto as the input x of a signature."""

    def read(proto, data_type="float", shape=(None, 2)):
        return tensors.read({"x": proto}, signature({"x": (data_type, shape)}))["x"]

    return read


@pytest.fixture
def error_of(read):
    """Returns a function from an invalid TensorProto to the error message."""

    def error_of(*arguments, **options):
        with pytest.raises(StatusError) as raised:
            read(*arguments, **options)
        assert raised.value.http_status == 400
        return raised.value.message

    return error_of


@pytest.mark.parametrize("data_type", NUMBERS)
def test_read_accepts_tensor_content(read, data_type):
    expected = array_of(data_type, VALUES[data_type]).reshape(3, 1)
    proto = proto_of(data_type, (3, 1), expected.tobytes())
    for declared in (None, 1), (3, 1):
        assert_equal(read(proto, data_type, declared), expected)


@pytest.mark.parametrize("data_type", VALUES)
def test_read_accepts_fields_of_values(read, data_type):
    values = VALUES[data_type]
    field = "string_val" if data_type == "string" else NUMBERS[data_type][0]
    proto = proto_of(data_type, (3, 1), **{field: values})
    assert_equal(read(proto, data_type, (None, 1)), array_of(data_type, values).reshape(3, 1))
    proto = proto_of(data_type, (), **{field: values[-1:]})
    for declared in (), None:
        expected = array_of(data_type, values)[-1:].reshape(())
        assert_equal(read(proto, data_type, declared), expected)


@pytest.mark.parametrize("declared", [(None, None), None])
@pytest.mark.parametrize("shape", [(-1, 2), (2, -1), (10**6, 10**6), (2**62, 4)])
def test_large_shape_allocates_little_memory(error_of, little_memory, shape, declared):
    for values in [1.0], []:
        with little_memory():
            error_of(proto_of("float", shape, float_val=values), shape=declared)
            content = np.array(values, np.float32).tobytes()
            error_of(proto_of("float", shape, content), shape=declared)


@pytest.mark.parametrize(
    ("data_type", "shape", "fields", "word"),
    [
        ("double", (1, 2), {"double_val": [1, 2]}, "double"),
        (0, (1, 2), {"float_val": [1, 2]}, "float"),
        (999, (1, 2), {"float_val": [1, 2]}, "999"),
        ("float", (), {"float_val": [1]}, "Shape"),
        ("float", (0, 2), {}, "example"),
        ("float", (2, 2), {"float_val": [1]}, "4 values"),
        ("float", (2, 2), {}, "4 values"),
        ("float", (2, 2), {"content": b"\0" * 17}, "4 values"),
        ("float", (2, 2), {"content": b"\0" * 12}, "4 values"),
        ("float", (2, 2), {"double_val": [1] * 4}, "4 values"),
        ("float", (3, 2), {"content": b"\0" * 16, "float_val": [1] * 6}, "6 values"),
        ("float", (1, 2), {"float_val": [1, np.nan]}, "finite"),
        ("float", (1, 2), {"float_val": [1, -np.inf]}, "finite"),
        ("float", (1, 2), {"content": np.array([np.inf, 1], "f4").tobytes()}, "finite"),
    ],
)
def test_wrong_types_shapes_and_values_are_rejected(error_of, data_type, shape, fields, word):
    assert word in error_of(proto_of(data_type, shape, **fields))


def test_unknown_rank_is_rejected(error_of):
    proto = proto_of("float", (), float_val=[1])
    proto.tensor_shape.unknown_rank = True
    assert "shape" in error_of(proto, shape=None)


def test_strings_in_tensor_content_are_rejected(error_of):
    for content in b"abc", b"a" * np.dtype(object).itemsize:  # may be read as a pointer
        error_of(proto_of("string", (1,), content), "string", (None,))


def test_values_out_of_range_are_rejected(error_of):
    for data_type, value in ("uint8", 256), ("uint8", -1), ("int8", 128), ("int16", -(2**15) - 1):
        proto = proto_of(data_type, (1,), int_val=[value])
        assert "Tensor x" in error_of(proto, data_type=data_type, shape=(None,))


@pytest.mark.parametrize("data_type", VALUES)
@pytest.mark.parametrize("shape", [(3, 1), (0, 3), ()])
def test_write_stores_values_in_the_field_of_the_type(signature, data_type, shape):
    array = array_of(data_type, VALUES[data_type])[: int(np.prod(shape))].reshape(shape)
    tensor = signature({}, {"y": (data_type, None)}).outputs["y"]
    proto = tensor_pb2.TensorProto()
    tensors.write(array, tensor, proto)
    assert_equal(tf.make_ndarray(proto), array)
    # Clients of TensorFlow Serving read these fields and not `tensor_content`.
    field = "string_val" if data_type == "string" else NUMBERS[data_type][0]
    assert not proto.tensor_content
    assert list(getattr(proto, field)) == array.ravel().tolist()
    assert proto.dtype == number_of(data_type)


def test_write_keeps_values_that_are_not_finite(signature):
    tensor = signature({}, {"y": ("float", (None,))}).outputs["y"]
    array = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    proto = tensor_pb2.TensorProto()
    tensors.write(array, tensor, proto)
    assert tf.make_ndarray(proto).tobytes() == array.tobytes()


@pytest.mark.parametrize("data_type", ["half", "bfloat16", "complex64"])
def test_types_without_a_field_are_read_and_written(signature, read, data_type):
    tensor = signature({}, {"y": (data_type, (None,))}).outputs["y"]
    proto = tensor_pb2.TensorProto()
    tensors.write(array_of(data_type, [1, -2.5]), tensor, proto)
    assert_equal(tf.make_ndarray(proto), array_of(data_type, [1, -2.5]))
    proto = proto_of(data_type, (2,), array_of(data_type, [1, -2.5]).tobytes())
    assert_equal(read(proto, data_type, (None,)), array_of(data_type, [1, -2.5]))
