"""Initial weights that depend on the run's seed and the layer's name alone.

Two networks of one seed start from equal weights whatever their activation, with
or without batch normalisation, on TensorFlow and on JAX: the draws are NumPy's.
"""

import hashlib
import math

import keras
import numpy as np


def layer_seed(seed: int, layer_name: str) -> int:
    """Returns the 31-bit seed of a layer in a run with this seed."""
    digest = hashlib.sha256(f"{seed}/{layer_name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFFFFFF


@keras.saving.register_keras_serializable("elu_zoo")
class HeUniform(keras.initializers.Initializer):
    """Uniform on +-sqrt(6 / fan_in), drawn with NumPy's Philox (He et al., 2015).

    Args:
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, seed: int):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        fan_in = math.prod(shape[:-1])
        limit = math.sqrt(6 / fan_in)
        draws = np.random.Generator(np.random.Philox(self.seed)).random(shape)
        return keras.ops.convert_to_tensor(
            ((2 * draws - 1) * limit).astype("float32"), dtype=dtype
        )

    def get_config(self):
        return {"seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class FanInNormal(keras.initializers.Initializer):
    """Normal with variance scale / fan_in, not truncated, from NumPy's Philox.

    At scale 2 it is He's (He et al., 2015), Caffe's "msra"; at 1 LeCun's.

    Args:
        scale: > 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, scale: float, seed: int):
        self.scale = scale
        self.seed = seed

    def __call__(self, shape, dtype=None):
        deviation = math.sqrt(self.scale / math.prod(shape[:-1]))
        draws = np.random.Generator(np.random.Philox(self.seed)).standard_normal(shape)
        return keras.ops.convert_to_tensor(
            (draws * deviation).astype("float32"), dtype=dtype
        )

    def get_config(self):
        return {"scale": self.scale, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class FanInOrthogonal(keras.initializers.Initializer):
    """Orthogonal rows or columns, with the norm that `FanInNormal` has on average.

    The kernel as a matrix of `(inputs, outputs)` has equal singular values; its
    Frobenius norm is sqrt(scale * outputs). The draws are NumPy's Philox, made
    orthogonal by a QR decomposition (Saxe et al., 2014).

    Args:
        scale: > 0, as of `FanInNormal`.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, scale: float, seed: int):
        self.scale = scale
        self.seed = seed

    def __call__(self, shape, dtype=None):
        inputs, outputs = math.prod(shape[:-1]), shape[-1]
        many, few = max(inputs, outputs), min(inputs, outputs)
        draws = np.random.Generator(np.random.Philox(self.seed))
        q, r = np.linalg.qr(draws.standard_normal((many, few)))
        q *= np.sign(np.diag(r))  # else the signs are those that LAPACK likes
        matrix = q if inputs >= outputs else q.T
        scaled = matrix * math.sqrt(self.scale * outputs / few)
        return keras.ops.convert_to_tensor(
            scaled.reshape(shape).astype("float32"), dtype=dtype
        )

    def get_config(self):
        return {"scale": self.scale, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class Normal(keras.initializers.Initializer):
    """Normal of a given deviation, not truncated, from NumPy's Philox.

    Args:
        deviation: the standard deviation, >= 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, deviation: float, seed: int):
        self.deviation = deviation
        self.seed = seed

    def __call__(self, shape, dtype=None):
        draws = np.random.Generator(np.random.Philox(self.seed)).standard_normal(shape)
        return keras.ops.convert_to_tensor(
            (draws * self.deviation).astype("float32"), dtype=dtype
        )

    def get_config(self):
        return {"deviation": self.deviation, "seed": self.seed}


@keras.saving.register_keras_serializable("elu_zoo")
class Uniform(keras.initializers.Initializer):
    """Uniform on +-limit, drawn with NumPy's Philox.

    Args:
        limit: >= 0.
        seed: the layer's seed, see `layer_seed`.
    """

    def __init__(self, limit: float, seed: int):
        self.limit = limit
        self.seed = seed

    def __call__(self, shape, dtype=None):
        draws = np.random.Generator(np.random.Philox(self.seed)).random(shape)
        return keras.ops.convert_to_tensor(
            ((2 * draws - 1) * self.limit).astype("float32"), dtype=dtype
        )

    def get_config(self):
        return {"limit": self.limit, "seed": self.seed}
