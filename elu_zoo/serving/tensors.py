"""Conversion between TensorProto messages and arrays, with checks of the input."""

import math
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from elu_zoo.serving.signature import MAX_DIMENSIONS, Arrays, Signature, Tensor, data_type_name
from elu_zoo.serving.status_errors import invalid_argument

# Outputs are written to these fields instead of tensor_content, because clients of
# TensorFlow Serving read the fields by name.
_FIELDS = {
    types_pb2.DT_FLOAT: "float_val",
    types_pb2.DT_DOUBLE: "double_val",
    types_pb2.DT_INT8: "int_val",
    types_pb2.DT_INT16: "int_val",
    types_pb2.DT_INT32: "int_val",
    types_pb2.DT_UINT8: "int_val",
    types_pb2.DT_INT64: "int64_val",
    types_pb2.DT_UINT32: "uint32_val",
    types_pb2.DT_UINT64: "uint64_val",
    types_pb2.DT_BOOL: "bool_val",
    types_pb2.DT_STRING: "string_val",
}


def read(inputs: Mapping[str, tensor_pb2.TensorProto], signature: Signature) -> Arrays:
    """Returns the inputs of a request as arrays."""
    signature.check_names(inputs)
    return {name: _array(inputs[name], tensor) for name, tensor in signature.inputs.items()}


def _array(proto: tensor_pb2.TensorProto, tensor: Tensor) -> np.ndarray:
    if proto.dtype != tensor.data_type:
        # Protobuf accepts numbers that are not in the enumeration DataType.
        is_named = proto.dtype in types_pb2.DataType.values()
        raise invalid_argument(
            f"Expected {tensor.name} to be {data_type_name(tensor.data_type)} but "
            f"{data_type_name(proto.dtype) if is_named else proto.dtype} provided"
        )
    if proto.tensor_shape.unknown_rank:
        raise invalid_argument(f"Tensor {tensor.name} has no shape")
    shape = [dim.size for dim in proto.tensor_shape.dim[: MAX_DIMENSIONS + 1]]
    tensor.check_shape(shape)
    values = _values(proto, tensor, math.prod(shape))
    # TensorFlow would replace missing values by repeating the last value.
    if values is None or values.size != math.prod(shape):
        raise invalid_argument(
            f"Tensor {tensor.name} must have {math.prod(shape)} values of type "
            f"{data_type_name(tensor.data_type)}, as many as its shape has"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise invalid_argument(f"Tensor {tensor.name} must have finite values, got NaN or infinity")
    return values.reshape(shape)


def _values(proto: tensor_pb2.TensorProto, tensor: Tensor, count: int) -> np.ndarray | None:
    """Returns the values of a message, without a shape; None if they cannot be read."""
    if proto.tensor_content:
        if tensor.is_string or len(proto.tensor_content) % tensor.dtype.itemsize:
            return None
        return np.frombuffer(proto.tensor_content, tensor.dtype)
    if tensor.data_type not in _FIELDS:
        return None
    try:
        field = getattr(proto, _FIELDS[tensor.data_type])
        return np.fromiter(field, tensor.dtype, count) if len(field) == count else None
    except OverflowError:  # integers of 8 and 16 bits are sent as int32
        return None


def write(array: np.ndarray, tensor: Tensor, proto: tensor_pb2.TensorProto) -> None:
    """Writes an output to `proto`."""
    field = _FIELDS.get(tensor.data_type)
    if field is None:
        proto.CopyFrom(tf.make_tensor_proto(array))
        return
    proto.dtype = tensor.data_type
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    getattr(proto, field).extend(array.ravel().tolist())
