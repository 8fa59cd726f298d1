"""Initializers whose draws depend only on the run's seed and the layer's name.

All draws come from NumPy's Philox generator. Therefore two networks with equal seeds
start from equal weights for every activation, with or without batch normalisation, on
TensorFlow and on JAX.
"""

import hashlib
import math

import keras
import numpy as np


def layer_seed(seed: int, layer_name: str) -> int:
    """Returns the 31-bit seed of a layer in a run with this seed."""
    digest = hashlib.sha256(f"{seed}/{layer_name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF


def _generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


@keras.saving.register_keras_serializable("elu_zoo")
class Uniform(keras.initializers.Initializer):
    """Uniform distribution on [-limit, limit].

    Args:
        limit: largest absolute value, >= 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, limit: float, seed: int):
        self.limit = limit
        self.seed = seed

    def __call__(self, shape, dtype=None):
        draws = _generator(self.seed).random(shape)
        values = ((2 * draws - 1) * self.limit).astype("float32")
        return keras.ops.convert_to_tensor(values, dtype=dtype)

    def get_config(self):
        return {"limit": self.limit, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class HeUniform(keras.initializers.Initializer):
    """Uniform distribution on [-limit, limit], limit = sqrt(6 / fan_in).

    Source: He et al., 2015.

    Args:
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        limit = math.sqrt(6 / math.prod(shape[:-1]))
        return Uniform(limit, self.seed)(shape, dtype)

    def get_config(self):
        return {"seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class Normal(keras.initializers.Initializer):
    """Normal distribution with mean 0, not truncated.

    Args:
        deviation: the standard deviation, >= 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, deviation: float, seed: int):
        self.deviation = deviation
        self.seed = seed

    def __call__(self, shape, dtype=None):
        draws = _generator(self.seed).standard_normal(shape)
        values = (draws * self.deviation).astype("float32")
        return keras.ops.convert_to_tensor(values, dtype=dtype)

    def get_config(self):
        return {"deviation": self.deviation, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class FanInNormal(keras.initializers.Initializer):
    """Normal distribution with mean 0 and variance scale / fan_in, not truncated.

    Scale 2 is the initializer of He et al. (2015), "msra" in Caffe. Scale 1 is LeCun's
    initializer.

    Args:
        scale: factor of the variance, > 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, scale: float, seed: int):
        self.scale = scale
        self.seed = seed

    def __call__(self, shape, dtype=None):
        deviation = math.sqrt(self.scale / math.prod(shape[:-1]))
        return Normal(deviation, self.seed)(shape, dtype)

    def get_config(self):
        return {"scale": self.scale, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class FanInOrthogonal(keras.initializers.Initializer):
    """Random kernel with orthogonal rows or columns (Saxe et al., 2014).

    The kernel as a matrix `(inputs, outputs)` has equal singular values. Its Frobenius
    norm is sqrt(scale * outputs), the root mean square norm of `FanInNormal` kernels.

    Args:
        scale: > 0, see `FanInNormal`.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, scale: float, seed: int):
        self.scale = scale
        self.seed = seed

    def __call__(self, shape, dtype=None):
        inputs, outputs = math.prod(shape[:-1]), shape[-1]
        many, few = max(inputs, outputs), min(inputs, outputs)
        q, r = np.linalg.qr(_generator(self.seed).standard_normal((many, few)))
        q *= np.sign(np.diag(r))  # LAPACK does not define the signs of q
        matrix = q if inputs >= outputs else q.T
        scaled = matrix * math.sqrt(self.scale * outputs / few)
        values = scaled.reshape(shape).astype("float32")
        return keras.ops.convert_to_tensor(values, dtype=dtype)

    def get_config(self):
        return {"scale": self.scale, "seed": self.seed}
