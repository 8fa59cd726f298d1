"""Computes outputs of the layers, which test_layers_on_jax.py compares.

`KERAS_BACKEND=jax python ../no_tensorflow.py jax_layers.py FILE STATISTICS MEAN` writes
the outputs on JAX to FILE.
"""

import sys

import keras
import numpy as np
import pytest

from elu_zoo import activations, errors, layers
from elu_zoo.layers import mean_subtraction, zca_whitening
from elu_zoo.layers.dropout import kept_values

# (layer's seed, iteration, rate)
MASKS = [(1, 0, 0.5), (2**31 - 1, 165_000, 0.1), (0, 2**31 - 1, 0.75)]
EXAMPLES = np.array([0, 1, 49_999, 1], "int32")


def compute(statistics, mean):
    """Returns outputs of the layers by name, which must be equal on every backend.

    Args:
        statistics: the name of whitening statistics of 2 x 3 x 3 images.
        mean: the name of a mean image of 2 x 3 x 3 values.
    """
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (20, 2, 3, 3)).astype("float32")
    images[0] = 77
    draws = rng.integers(0, 5, (20, 3), "int32")
    draws[:, 2] %= 2
    corners = np.minimum(draws, np.array([3, 2, 1], "int32"))
    maps = rng.normal(size=(4, 9, 5, 3)).astype("float32")
    recolor_draws = rng.integers(0, 2**31, (20, 16), "int32")
    description = {"kind": "gcn_zca", "statistics": statistics}
    mean_crop = {"kind": "mean_crop", "statistics": mean, "crop": (1, 2)}
    outputs = {
        "crops": layers.PadCropFlip(2)(images, draws),
        "crops_of_a_size": layers.PadCropFlip(2, (3, 5))(images, corners),
        "cut_out": layers.Cutout(3)(images, draws[:, :2]),
        "recolored": layers.AffineRecolor(9)(images, recolor_draws),
        "maxima": layers.SpatialPyramidPooling()(maps),
        "subtracted": layers.MeanSubtraction(mean)(images),
        "centres": layers.preprocess(images, mean_crop),
        "normalized": layers.GlobalContrastNormalization()(images),
        "whitened": layers.ZCAWhitening(statistics)(images / 255),
        "preprocessed": layers.preprocess(images, description),
    }
    for name in ("elu", "leaky_relu", "shifted_relu", "prelu", "rrelu"):
        outputs[name] = activations.make(name, name)(maps)
    for i, (seed, iteration, rate) in enumerate(MASKS):
        outputs[f"mask{i}"] = kept_values(seed, iteration, EXAMPLES, (7, 5), rate)
        layer = layers.Dropout(rate, seed=seed)
        with layers.keyed(iteration, EXAMPLES):
            ones = np.ones((4, 7, 5), "float32")
            outputs[f"dropped{i}"] = layer(ones, training=True)
    return {name: keras.ops.convert_to_numpy(x) for name, x in outputs.items()}


def check_jitted(statistics, mean):
    """Asserts that outputs in jax.jit equal eager outputs computed after the trace."""
    import jax

    # The caches are emptied, so that the trace builds the tensors of the layers.
    zca_whitening._tensors.cache_clear()
    mean_subtraction._tensor.cache_clear()
    whiten, dropout = layers.ZCAWhitening(statistics), layers.Dropout(0.5, seed=3)
    subtract, pool = layers.MeanSubtraction(mean), layers.SpatialPyramidPooling((2, 1))
    images, ones = np.ones((4, 2, 3, 3), "float32"), np.ones((4, 6), "float32")

    def apply(images, draws, iteration):
        with layers.keyed(iteration, EXAMPLES):
            dropped = dropout(ones, training=True)
        crops = [layers.PadCropFlip(2, n)(images, draws) for n in (None, (2, 3))]
        crops.append(layers.AffineRecolor(5)(images, keras.ops.tile(draws, (1, 7))))
        return whiten(images), *crops, dropped, subtract(images), pool(images)

    draws = np.array([[0, 1, 0], [4, 4, 1], [2, 2, 1], [3, 0, 0]])
    for arguments in ((images, draws, 3), (images * 2, draws[::-1], 4)):
        for a, b in zip(jax.jit(apply)(*arguments), apply(*arguments), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def check_elu():
    """Asserts the behaviour of ELU that differs between JAX and TensorFlow."""
    import jax

    with pytest.raises(errors.UsageError, match="needs the TensorFlow backend"):
        activations.elu_xla(1.0)
    assert activations.ELU(jit_compile=True)(np.float32(2)) == 2
    assert jax.grad(activations.elu)(np.float32(np.inf)) == 1


if __name__ == "__main__":
    assert keras.backend.backend() == "jax"
    np.savez(sys.argv[1], **compute(*sys.argv[2:]))
    check_jitted(*sys.argv[2:])
    check_elu()
