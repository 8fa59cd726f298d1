"""The gated sum of a highway layer."""

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
        self.built = True

    def call(self, inputs: Sequence[Any]) -> Any:
        parts = inputs if isinstance(inputs, list | tuple) else [inputs]
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
