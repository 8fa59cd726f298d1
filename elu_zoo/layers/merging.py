"""Layers that merge tensors, or the pieces of a tensor."""

import functools
from collections.abc import Sequence
from typing import Any

import keras

from elu_zoo import errors


@keras.saving.register_keras_serializable("elu_zoo")
class Highway(keras.layers.Layer):
    """Combines two tensors by a gate (Srivastava et al., 2015).

    Formula:

    ```
    y = sigmoid(gate) * transformed + (1 - sigmoid(gate)) * carried
    ```

    Args:
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Inputs: a list of three tensors of one shape: transformed, gate and carried. The
    layer applies the sigmoid to the gate. Output shape: the shape of each input.

    Raises:
        UsageError: the inputs are not three tensors of one shape.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.built = self.supports_masking = True

    def call(self, inputs: Sequence[Any]) -> Any:
        parts: Sequence[Any] = inputs if isinstance(inputs, list | tuple) else [inputs]
        _check([part.shape for part in parts])
        transformed, gate, carried = parts
        opened = keras.ops.sigmoid(gate)
        return opened * transformed + (1 - opened) * carried

    def compute_output_shape(self, input_shape: Any) -> Any:
        are_shapes = all(isinstance(shape, list | tuple) for shape in input_shape)
        _check(input_shape if are_shapes else [input_shape])
        return input_shape[0]


def _check(shapes):
    shapes = [tuple(shape) for shape in shapes]
    is_equal = len({len(shape) for shape in shapes}) == 1 and all(
        len(set(sizes) - {None}) <= 1 for sizes in zip(*shapes, strict=True)
    )
    if len(shapes) != 3 or not is_equal:
        raise errors.UsageError(
            "A Highway layer needs a list of three tensors of one shape: transformed, "
            f"gate and carried. Received: {', '.join(map(str, shapes)) or 'none'}."
        )


def larger(a, b):
    """Returns the larger values; of equal ones, the first has the gradient, as on TensorFlow."""
    if keras.backend.backend() == "tensorflow":
        return keras.ops.maximum(a, b)
    return keras.ops.where((a >= b) | keras.ops.isnan(a), a, b)


@keras.saving.register_keras_serializable("elu_zoo")
class Maxout(keras.layers.Layer):
    """Maxout (Goodfellow et al., 2013) after a dense or convolution layer.

    Formula:

    ```
    y[..., u] = max over j of x[..., u * pieces + j]
    ```

    Args:
        pieces: number of pieces of each unit, an integer >= 1.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(..., units * pieces)`. Output shape: `(..., units)`.

    Raises:
        UsageError: `pieces` is not an integer >= 1, or the size of the last axis is not
            a multiple of `pieces`.
    """

    def __init__(self, pieces: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_integer("pieces", pieces, minimum=1)
        self.pieces = pieces
        self.built = self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        units = self._units(inputs.shape)
        outer = keras.ops.shape(inputs)[:-1]
        x = keras.ops.reshape(inputs, (*outer, units, self.pieces))
        # On a CPU this is twice as fast as a reduction of the last axis.
        return functools.reduce(larger, keras.ops.unstack(x, axis=-1))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return (*input_shape[:-1], self._units(input_shape))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pieces": self.pieces}

    def _units(self, input_shape: Any) -> int:
        shape = tuple(input_shape)
        if len(shape) < 2 or not shape[-1] or shape[-1] % self.pieces:
            raise errors.UsageError(
                f"Maxout with {self.pieces} pieces needs an input (batch, ..., units * "
                f"{self.pieces}). Received: {shape}."
            )
        return shape[-1] // self.pieces


@keras.saving.register_keras_serializable("elu_zoo")
class DeepSupervision(keras.layers.Layer):
    """Stacks the scores of a network and of its auxiliary heads (Lee et al., 2015).

    To stop the training of the heads, set `active` to False before the layer is traced again. The
    output then has no scores of the heads, so that the gradients of the heads are zero.

    Args:
        active: whether the heads are trained.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: a list of two or more `(batch, classes)`, the network's scores first.
    Output shape: `(batch, inputs, classes)`, or `(batch, 1, classes)` if not active.

    Raises:
        UsageError: `active` is neither True nor False.

    Reference: [Lee et al., 2015](https://arxiv.org/abs/1409.5185).
    """

    def __init__(self, active: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        errors.check_bool("active", active)
        self.active = active
        self.built = True

    def call(self, inputs: Any) -> Any:
        scores, *heads = inputs
        if not self.active:
            # The optimizer needs a gradient, here of zero, for every variable.
            scores, heads = scores + 0 * sum(heads), []
        return keras.ops.stack([scores, *heads], axis=1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, classes = input_shape[0]
        return batch, len(input_shape) if self.active else 1, classes

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "active": self.active}
