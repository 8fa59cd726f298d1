"""Initializers whose draws depend only on the run's seed and the layer's name.

All draws come from NumPy's Philox generator. Therefore two networks with equal seeds start from
equal weights for every activation, with or without batch normalisation, on TensorFlow and on JAX,
if their kernels have equal shapes, which those of `maxout` with its own activation have not.
"""

import hashlib
import math

import keras
import numpy as np


def layer_seed(seed: int, layer_name: str) -> int:
    """Returns the 31-bit seed of a layer in a run with this seed."""
    digest = hashlib.sha256(f"{seed}/{layer_name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF


class _Seeded(keras.initializers.Initializer):
    """An initializer with a layer's seed, see `layer_seed`; its attributes are its arguments."""

    def __init__(self, seed: int):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        draws = self.draw(np.random.Generator(np.random.Philox(self.seed)), shape)
        return keras.ops.convert_to_tensor(draws.astype("float32"), dtype=dtype)

    def get_config(self):
        return dict(vars(self))


@keras.saving.register_keras_serializable("elu_zoo")
class Uniform(_Seeded):
    """Uniform distribution on [-limit, limit]."""

    def __init__(self, limit: float, seed: int):
        super().__init__(seed)
        self.limit = limit

    def draw(self, generator, shape):
        return (2 * generator.random(shape) - 1) * self.limit


@keras.saving.register_keras_serializable("elu_zoo")
class HeUniform(_Seeded):
    """Uniform distribution on [-limit, limit], limit = sqrt(6 / fan_in) (He et al., 2015)."""

    def draw(self, generator, shape):
        return (2 * generator.random(shape) - 1) * math.sqrt(6 / math.prod(shape[:-1]))


@keras.saving.register_keras_serializable("elu_zoo")
class Normal(_Seeded):
    """Normal distribution with mean 0 and a standard deviation, not truncated."""

    def __init__(self, deviation: float, seed: int):
        super().__init__(seed)
        self.deviation = deviation

    def draw(self, generator, shape):
        return generator.standard_normal(shape) * self.deviation


@keras.saving.register_keras_serializable("elu_zoo")
class FanInNormal(_Seeded):
    """Normal distribution with mean 0 and variance scale / fan_in, not truncated.

    Scale 2 is the initializer of He et al. (2015), "msra" in Caffe; scale 1 is LeCun's.
    """

    def __init__(self, scale: float, seed: int):
        super().__init__(seed)
        self.scale = scale

    def draw(self, generator, shape):
        return generator.standard_normal(shape) * math.sqrt(self.scale / math.prod(shape[:-1]))
