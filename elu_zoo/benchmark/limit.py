"""Matrix products, whose speed limits the speed of every network."""

from collections.abc import Callable

import keras
import numpy as np

_SIZE = 2048
FLOP = 2 * _SIZE**3


def forms() -> dict[str, Callable[[], object]]:
    """Returns functions that compute a matrix product of `FLOP` operations, by name."""
    return {
        "limit: matrix product": _product("float32"),
        "limit: matrix product, bfloat16": _product("bfloat16"),
    }


def _product(dtype: str) -> Callable[[], object]:
    draws = np.random.Generator(np.random.Philox(0)).standard_normal((_SIZE, _SIZE))
    matrix = keras.ops.convert_to_tensor(draws, dtype)

    def call():
        # Copying one value is enough to wait for the product.
        corner = keras.ops.matmul(matrix, matrix)[:1, :1]
        return keras.ops.convert_to_numpy(keras.ops.cast(corner, "float32"))

    return call
