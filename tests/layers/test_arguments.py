"""Every layer keeps its arguments in its config and refuses wrong arguments and shapes."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.activations.rectifiers import RReLU
from elu_zoo.layers import (
    AffineRecolor,
    CeilMaxPooling2D,
    Cutout,
    DeepSupervision,
    Dropout,
    FeatureMapDropout,
    FractionalMaxPooling2D,
    Highway,
    Maxout,
    PadCropFlip,
    SpatialPyramidPooling,
    WithinChannelNormalization,
)

ARGUMENTS = {
    AffineRecolor: {"size": 10, "value": 7.0},
    CeilMaxPooling2D: {"pool_size": 4, "strides": 2},
    Cutout: {"size": 8, "value": 9.5},
    DeepSupervision: {"active": False},
    Dropout: {"rate": 0.25, "seed": 3, "scaled": False},
    FeatureMapDropout: {"rate": 0.25, "seed": 3},
    FractionalMaxPooling2D: {"size": (6, 9), "regions": "random", "seed": 5},
    Maxout: {"pieces": 3},
    RReLU: {"lower": 0.2, "upper": 0.3, "seed": 5},
    PadCropFlip: {"padding": 3, "size": (4, 3), "value": 2.0},
    SpatialPyramidPooling: {"levels": (1, 3)},
}


@pytest.mark.parametrize("layer", ARGUMENTS)
def test_the_config_keeps_the_arguments(layer):
    config = json.dumps(keras.saving.serialize_keras_object(layer(**ARGUMENTS[layer])))
    restored = keras.saving.deserialize_keras_object(json.loads(config))
    assert {name: getattr(restored, name) for name in ARGUMENTS[layer]} == ARGUMENTS[layer]


@pytest.mark.parametrize(
    ("layer", "arguments", "words"),
    [
        (CeilMaxPooling2D, (2, 3), "pool_size must"),
        (CeilMaxPooling2D, (3, 0), "strides must"),
        (Cutout, (0,), "size must"),
        (DeepSupervision, (1,), "active must"),
        (Dropout, (-0.1,), r"\[0, 1\)"),
        (Dropout, (1,), r"\[0, 1\)"),
        (Dropout, (float("nan"),), r"\[0, 1\)"),
        (Dropout, ("0.5",), r"\[0, 1\)"),
        (FeatureMapDropout, (1,), r"\[0, 1\)"),
        (FractionalMaxPooling2D, ((0, 3),), "size must"),
        (FractionalMaxPooling2D, ((3, 3), "disjoint"), "pseudorandom, random"),
        (Maxout, (0,), "pieces must"),
        (SpatialPyramidPooling, ((),), "1, 2, 4"),
        (SpatialPyramidPooling, ((1, 2.0),), "1, 2, 4"),
        (SpatialPyramidPooling, (3,), "1, 2, 4"),
    ],
)
def test_wrong_arguments_are_refused(layer, arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        layer(*arguments)


@pytest.mark.parametrize(
    ("layer", "shapes", "words"),
    [
        (AffineRecolor(8), [(1, 5, 9, 3), (1, 16)], "larger size"),
        (CeilMaxPooling2D(3, 2), [(1, 1, 9, 2)], "at least 2 x 2"),
        (CeilMaxPooling2D(3, 2), [(1, 9, 9)], "at least 2 x 2"),
        (FractionalMaxPooling2D((4, 4)), [(1, 4, 6, 2)], r"least \(5, 5\)"),
        (FractionalMaxPooling2D((4, 7)), [(1, 6, 15, 2)], r"most \(8, 14\)"),
        (FractionalMaxPooling2D((4, 4)), [(1, 6, 6)], "channels"),
        (Highway(), [[(4, 5), (4, 5), (4, 1)]], "one shape"),
        (Highway(), [[(4, 5), (4, 5)]], "three"),
        (Highway(), [(3, 5)], "three"),
        (Maxout(3), [(2, 5)], "units"),
        (PadCropFlip(2, (5, 12)), [(1, 9, 7, 2), (1, 3)], "smaller size"),
        (SpatialPyramidPooling(), [(1, 3, 9, 2)], "4 x 4"),
        (SpatialPyramidPooling((1,)), [(2, 8, 8)], "1 x 1"),
    ],
)
def test_inputs_of_unsuitable_shapes_are_refused(layer, shapes, words):
    def zeros(shape):
        return [zeros(s) for s in shape] if isinstance(shape, list) else np.zeros(shape, "float32")

    with pytest.raises(errors.UsageError, match=words):
        layer(*map(zeros, shapes))
    with pytest.raises(errors.UsageError, match=words):
        layer.compute_output_shape(*shapes)


@pytest.mark.parametrize(
    "layer",
    [CeilMaxPooling2D(3, 2), Maxout(), WithinChannelNormalization()],
    ids=lambda layer: type(layer).__name__,
)
def test_maps_may_have_an_unknown_size(layer):
    traced = tf.function(layer, input_signature=[tf.TensorSpec([None, None, None, 6])])
    for shape in ((4, 5, 6, 6), (1, 4, 3, 6)):
        maps = np.random.default_rng(0).normal(size=shape).astype("float32")
        np.testing.assert_allclose(traced(maps), layer(maps), rtol=1e-6)
