"""RReLU, a rectifier with random slopes."""

from typing import Any

import keras

from elu_zoo.errors import UsageError, positive_float32


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
        if not training:
            mean = (self.lower + self.upper) / 2
            return keras.ops.leaky_relu(inputs, negative_slope=mean)
        slope = keras.random.uniform(
            keras.ops.shape(inputs),
            self.lower,
            self.upper,
            dtype=inputs.dtype,
            seed=self.seed_generator,
        )
        return keras.ops.where(inputs > 0, inputs, slope * inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {"lower": self.lower, "upper": self.upper, "seed": self.seed}
        return {**super().get_config(), **own}
