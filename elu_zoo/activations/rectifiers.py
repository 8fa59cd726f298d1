"""Leaky, shifted, parametric and randomized rectifiers."""

from typing import Any

import keras

from elu_zoo.errors import UsageError, positive_float32


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
        if keras.backend.backend() == "tensorflow":
            return keras.ops.leaky_relu(inputs, negative_slope=self.alpha)
        # The function of JAX has the slope 1 at 0, where many values of a padded image are.
        return keras.ops.where(inputs > 0, inputs, self.alpha * inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": self.alpha}


@keras.saving.register_keras_serializable("elu_zoo")
class VeryLeakyReLU(LeakyReLU):
    """Leaky rectified linear unit with a slope of 1/3 (Graham, 2014; 0.333 in his code).

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
        inputs = keras.ops.cast(inputs, self.compute_dtype)
        least = keras.ops.cast(-1, inputs.dtype)
        if keras.backend.backend() == "tensorflow":
            return keras.ops.maximum(inputs, least)
        # The maximum of JAX has the slope 1/2 at -1.
        return keras.ops.where(inputs < least, least, inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


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
        inputs = keras.ops.cast(inputs, self.compute_dtype)
        positive = inputs > 0
        negative = keras.ops.where(positive, keras.ops.zeros_like(inputs), inputs)
        slope = keras.ops.cast(self.slope, inputs.dtype)
        return keras.ops.where(positive, inputs, slope * negative)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@keras.saving.register_keras_serializable("elu_zoo")
class RReLU(keras.layers.Layer):
    """Randomized leaky rectified linear unit (Xu et al., 2015).

    Formula:

    ```
    f(x) = x            for x > 0
    f(x) = slope * x    for x <= 0
    ```

    In training the `slope` of each element is drawn uniformly from [lower, upper). At
    inference the slope is the mean, `(lower + upper) / 2`. (Xu et al. draw 1 / slope
    from [3, 8), and at inference use a slope of 1 / 5.5.)

    Args:
        lower: the lower bound of the slope; must be > 0. Defaults to `1/8`.
        upper: the upper bound of the slope; must be > lower. Defaults to `1/3`.
        seed: integer seed of the draws, or `None` for a random seed.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: any. Output shape: the shape of the input.

    Reference: https://arxiv.org/abs/1505.00853
    """

    def __init__(
        self, lower: float = 1 / 8, upper: float = 1 / 3, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.lower = positive_float32("lower", lower)
        self.upper = positive_float32("upper", upper)
        if self.lower >= self.upper:
            raise UsageError(
                f"RReLU needs lower < upper. Received: lower={self.lower}, upper={self.upper}."
            )
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        inputs = keras.ops.cast(inputs, self.compute_dtype)
        slope = (self.lower + self.upper) / 2
        if training:
            shape, dtype = keras.ops.shape(inputs), inputs.dtype
            slope = keras.random.uniform(shape, self.lower, self.upper, dtype, self.seed_generator)
        return keras.ops.where(inputs > 0, inputs, slope * inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {"lower": self.lower, "upper": self.upper, "seed": self.seed}
        return {**super().get_config(), **own}
