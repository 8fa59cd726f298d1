"""Inputs of the pooling layers and of Maxout."""

import numpy as np


def noise(*shape):
    """Returns distinct negative values, so that a padding of zeros would be visible."""
    order = np.random.default_rng(0).permutation(int(np.prod(shape)))
    return (-1 - order.reshape(shape) / 8).astype(np.float32)
