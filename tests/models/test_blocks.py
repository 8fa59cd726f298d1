"""Building blocks of networks: units, penalties, padding, float32 logits."""

import keras
import pytest

from elu_zoo.initializers import HeUniform
from elu_zoo.models import blocks


@pytest.mark.parametrize(
    ("units", "width", "expected"),
    [(128, 1.0, 128), (128, 0.5, 64), (128, 2, 256), (3, 0.01, 1), (10, 0.26, 3)],
)
def test_scaled_units(units, width, expected):
    assert blocks.scaled_units(units, width) == expected


@pytest.mark.parametrize(("decay", "penalty"), [(0.0, None), (0.5, 0.25)])
def test_kernel_decay(decay, penalty):
    image = keras.Input((6, 6, 2))
    x = blocks.convolution(image, 3, 2, "conv", HeUniform(1), kernel_decay=decay)
    x = keras.layers.Flatten()(x)
    x = blocks.dense(x, 2, "dense", HeUniform(2), kernel_decay=decay)
    model = keras.Model(image, x)
    found = [model.get_layer(name).kernel_regularizer for name in ("conv", "dense")]
    assert [f and f.l2 for f in found] == [penalty] * 2


@pytest.mark.parametrize(
    ("zeros", "names", "size"),
    [(None, ["conv"], 6), (0, ["conv"], 5), (1, ["conv_pad", "conv"], 7)],
)
def test_zeros(zeros, names, size):
    image = keras.Input((6, 6, 2))
    x = blocks.convolution(image, 3, 2, "conv", HeUniform(1), zeros=zeros)
    assert [layer.name for layer in keras.Model(image, x).layers[1:]] == names
    assert x.shape == (None, size, size, 3)


def test_logits_are_float32_after_bfloat16():
    image = keras.Input((6, 6, 2))
    x = blocks.convolution(image, 3, 3, "conv", HeUniform(1), dtype="mixed_bfloat16")
    maps = blocks.classifier_maps(x, 5, HeUniform(2))
    logits = blocks.classifier(blocks.average(x), 5, HeUniform(3))
    assert (x.dtype, maps.dtype, logits.dtype) == ("bfloat16", "float32", "float32")
    assert (maps.shape, logits.shape) == ((None, 6, 6, 5), (None, 5))
