"""Random images, random biases and max-pooling for comparisons with NumPy."""

import numpy as np


def noise(shape, count=4):
    """Returns `count` images of standard normal noise, in float32."""
    draws = np.random.default_rng(0).standard_normal((count, *shape))
    return draws.astype(np.float32)


def randomize(model):
    """Assigns random biases, and returns the model."""
    draws = np.random.default_rng(1)
    for weight in model.weights:
        if weight.name == "bias":
            weight.assign(draws.normal(0, 0.3, weight.shape))
    return model


def pool(x):
    """Pools 2 x 2 pixels, including the last row and column of a map of odd size."""
    if x.shape[1:3] == (1, 1):
        return x
    padding = [(0, size % 2) for size in x.shape[1:3]]
    x = np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=-np.inf)
    return np.maximum.reduce([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])
