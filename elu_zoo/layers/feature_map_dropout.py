"""Dropout of whole feature maps."""

from typing import Any

import keras

from elu_zoo.layers.dropout import batch_draws, check_rate


@keras.saving.register_keras_serializable("elu_zoo")
class FeatureMapDropout(keras.layers.Layer):
    """Dropout of feature maps as in fractional max pooling (Graham, 2014).

    In training, exactly `round(channels * (1 - rate))` maps, but at least one, are kept
    without scaling, and the other maps become 0. The same maps are kept for the whole
    batch. At inference, every value is multiplied by 1 - rate. In contrast,
    `keras.layers.SpatialDropout2D` draws maps for each image and scales in training.
    Graham's code multiplies before the activation, which is equivalent for leaky ReLU
    but not for ELU.

    Within `elu_zoo.layers.keyed` the kept maps depend only on the layer's seed and the
    iteration. `rate` can be changed, even from 0, before the layer is traced again.

    Args:
        rate: in [0, 1).
        seed: seed of the draws.
        **kwargs: base layer keyword arguments, such as `name` and `dtype`.

    Input shape: `(..., channels)`. Output shape: the shape of the input.

    Raises:
        UsageError: the rate is not a number in [0, 1).
    """

    keyed = True

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = check_rate(rate)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any, training: bool = False) -> Any:
        if self.rate == 0:
            return inputs
        if not training:
            return inputs * (1 - self.rate)
        channels = inputs.shape[-1]
        order = keras.ops.argsort(batch_draws(self, channels))
        ranks = keras.ops.argsort(order)
        kept = ranks < max(round(channels * (1 - self.rate)), 1)
        return inputs * keras.ops.cast(kept, inputs.dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
