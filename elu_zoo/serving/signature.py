"""Signatures of a loaded model: declared tensors, checks of inputs, and prediction."""

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from elu_zoo import errors
from elu_zoo.serving.status_errors import invalid_argument, shorten

BYTES = "_bytes"  # suffix in the name of a tensor whose values are base64 in JSON
MAX_DIMENSIONS = 32

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Declaration of an input or output in the SavedModel.

    Attributes:
        data_type: number of the tensor's type in the enumeration DataType.
        shape: sizes of the dimensions, None for an unknown size. None instead of a
            tuple if the number of dimensions is unknown.
    """

    name: str
    data_type: int
    shape: tuple[int | None, ...] | None

    @property
    def dtype(self) -> np.dtype:
        """NumPy dtype of the tensor, which is object for strings."""
        return np.dtype(tf.as_dtype(self.data_type).as_numpy_dtype)

    @property
    def is_string(self) -> bool:
        return self.data_type == types_pb2.DT_STRING

    @property
    def is_batched(self) -> bool:
        return bool(self.shape) and self.shape[0] is None

    def check_shape(self, shape: Sequence[int]) -> None:
        """Checks the shape of a tensor in a request."""
        if self.shape is None:
            fits = len(shape) <= MAX_DIMENSIONS and min(shape, default=0) >= 0
        else:
            fits = len(shape) == len(self.shape) and all(
                size >= 0 and expected in (None, size)
                for size, expected in zip(shape, self.shape, strict=True)
            )
        if not fits or (self.is_batched and shape[0] < 1):
            raise invalid_argument(
                f"Shape of tensor {self.name} {_shape_text(shape)} is not compatible "
                f"with expected shape {_shape_text(self.shape)}"
                f"{' and at least one example' if self.is_batched else ''}."
            )


class Signature:
    """A callable signature of a loaded model.

    Attributes:
        is_batched: whether several requests can run as one batch. This is true if all
            inputs and outputs have a first dimension of unknown size.
    """

    def __init__(self, name: str, definition: meta_graph_pb2.SignatureDef, function: Callable):
        self.name = name
        self.inputs = _tensors(definition.inputs)
        self.outputs = _tensors(definition.outputs)
        self.is_batched = bool(self.inputs) and all(
            tensor.is_batched for tensor in (*self.inputs.values(), *self.outputs.values())
        )
        self._function = function

    def check_names(self, names: Collection[str]) -> None:
        """Checks that a request has all inputs and no others."""
        if set(names) != set(self.inputs):
            sent = shorten(", ".join(sorted(names)))
            raise invalid_argument(f"The inputs must be {', '.join(self.inputs)}, got {sent}")

    def size(self, arrays: Mapping[str, np.ndarray]) -> int:
        """Returns the number of examples: 1 if the signature is not batched."""
        if not self.is_batched:
            return 1
        sizes = {len(array) for array in arrays.values()}
        if len(sizes) > 1:
            raise invalid_argument("All inputs must have the same number of examples")
        return sizes.pop()

    def max_values(self, max_batch_size: int) -> float:
        """Returns the largest number of values in a request, infinite if unlimited."""
        total = 0.0
        for tensor in self.inputs.values():
            shape = tensor.shape
            if shape and self.is_batched:
                shape = (max_batch_size, *shape[1:])
            # `Bodies.read` counts values by commas, and text may contain commas.
            is_text = tensor.is_string and not tensor.name.endswith(BYTES)
            if shape is None or None in shape or is_text:
                return math.inf
            total += math.prod(shape)
        return total

    def run(self, requests: Sequence[Arrays]) -> list[Arrays]:
        """Returns the outputs of each request, computed as one batch.

        Args:
            requests: checked inputs of each request. Must have one item if the
                signature is not batched.
        """
        if len(requests) == 1:
            return [self._call(requests[0])]
        batch = {
            name: np.concatenate([arrays[name] for arrays in requests]) for name in self.inputs
        }
        ends = np.cumsum([self.size(arrays) for arrays in requests])
        outputs = self._call(batch)
        if any(len(values) != ends[-1] for values in outputs.values()):
            raise errors.EluZooError("Each output must have one row per example.")
        parts = {name: np.split(values, ends[:-1]) for name, values in outputs.items()}
        return [{name: values[i] for name, values in parts.items()} for i in range(len(requests))]

    def _call(self, arrays: Arrays) -> Arrays:
        inputs = {k: tf.constant(x, self.inputs[k].data_type) for k, x in arrays.items()}
        outputs = self._function(**inputs)
        # asarray is needed because numpy() returns a scalar string as bytes.
        return {
            name: np.asarray(outputs[name].numpy(), tensor.dtype)
            for name, tensor in self.outputs.items()
        }


def data_type_name(data_type: int) -> str:
    """Returns the name of a DataType in messages, such as `float`."""
    name = types_pb2.DataType.Name(data_type)
    return name.removeprefix("DT_").lower()


def _tensors(infos: Mapping[str, meta_graph_pb2.TensorInfo]) -> dict[str, Tensor]:
    return {
        name: Tensor(name, infos[name].dtype, _shape(infos[name].tensor_shape))
        for name in sorted(infos)
    }


def _shape(proto) -> tuple[int | None, ...] | None:
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


def _shape_text(shape: Sequence[int | None] | None) -> str:
    """Returns a shape as text, such as `[?,28,28,1]`."""
    if shape is None:
        return "of any size"
    sizes = ",".join("?" if size is None else str(size) for size in shape)
    return f"[{shorten(sizes)}]"
