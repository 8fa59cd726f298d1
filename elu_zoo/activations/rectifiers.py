"""Leaky and shifted rectifiers."""

from typing import Any

import keras

from elu_zoo.errors import positive_float32


@keras.saving.register_keras_serializable("elu_zoo")
class LeakyReLU(keras.layers.Layer):
    """Leaky rectified linear unit (Maas et al., 2013).

    Formula:

    ```
    f(x) = x           for x > 0
    f(x) = alpha * x   for x <= 0
    ```

    Args:
        alpha: the slope for negative inputs; must be finite and > 0. Defaults to `0.1`,
            as in Clevert et al. (2016), figure 1 and section 4.1.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.
    """

    def __init__(self, alpha: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = positive_float32("alpha", alpha)
        self.supports_masking = True
        self.built = type(self).build is keras.layers.Layer.build

    def call(self, inputs: Any) -> Any:
        return keras.ops.leaky_relu(inputs, negative_slope=self.alpha)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


@keras.saving.register_keras_serializable("elu_zoo")
class VeryLeakyReLU(LeakyReLU):
    """Leaky rectified linear unit with a slope of 1/3 (Graham, 2014, `VLEAKYRELU`).

    Args:
        alpha: the slope for negative inputs; must be finite and > 0. Defaults to `1/3`.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.

    Reference: https://arxiv.org/abs/1412.6071
    """

    def __init__(self, alpha: float = 1 / 3, **kwargs: Any) -> None:
        super().__init__(alpha, **kwargs)


@keras.saving.register_keras_serializable("elu_zoo")
class ShiftedReLU(keras.layers.Layer):
    """Shifted rectified linear unit, SReLU (Clevert et al., 2016, section 4).

    Formula:

    ```
    f(x) = max(-1, x)
    ```

    The S-shaped rectified linear unit of Jin et al. (2016), which is also called SReLU,
    is another function.

    Args:
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.

    Reference: https://arxiv.org/abs/1511.07289
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.built = type(self).build is keras.layers.Layer.build

    def call(self, inputs: Any) -> Any:
        return keras.ops.maximum(inputs, keras.ops.cast(-1, inputs.dtype))

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
