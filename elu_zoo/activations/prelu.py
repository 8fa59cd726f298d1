"""PReLU, a rectifier with learned slopes."""

from typing import Any

import keras

from elu_zoo.errors import UsageError


@keras.saving.register_keras_serializable("elu_zoo")
class PReLU(keras.layers.Layer):
    """Parametric rectified linear unit (He et al., 2015).

    Formula:

    ```
    f(x) = x            for x > 0
    f(x) = slope * x    for x <= 0
    ```

    Each channel (index of the last axis) has one learned `slope`, whose initial value
    is 0.25. (`keras.layers.PReLU` has one slope per unit, with an initial value of 0.)

    Args:
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(batch, ..., channels)`. Output shape: the shape of the input.

    Reference: https://arxiv.org/abs/1502.01852
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if len(input_shape) < 2 or input_shape[-1] is None:
            raise UsageError(
                "PReLU needs an input (batch, ..., channels) with a known number of "
                f"channels. Received an input of shape {tuple(input_shape)}."
            )
        self.slope = self.add_weight(
            name="slope", shape=(input_shape[-1],), initializer=keras.initializers.Constant(0.25)
        )

    def call(self, inputs: Any) -> Any:
        # If the product contained positive inputs, the derivative with respect to the
        # slope would be 0 * inf at +inf.
        positive = inputs > 0
        negative = keras.ops.where(positive, keras.ops.zeros_like(inputs), inputs)
        slope = keras.ops.cast(self.slope, inputs.dtype)
        return keras.ops.where(positive, inputs, slope * negative)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
