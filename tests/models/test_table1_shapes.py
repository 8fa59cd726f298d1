"""The networks of table 1 have the map sizes and kernel sizes of the originals."""

import math

import keras
import numpy as np
import pytest

import elu_zoo

pytestmark = pytest.mark.usefixtures("zero_weights")

# layer: (side of the output maps, number of channels), or the size of a flat output.
BLOCK_SHAPES = {
    "block1_conv": (32, 192), "block1_cccp1": (32, 160), "block1_cccp2": (32, 96),
    "block1_pool": (16, 96), "block2_conv": (16, 192), "block2_cccp1": (16, 192),
    "block2_cccp2": (16, 192), "block2_pool": (8, 192), "block3_conv": (8, 192),
    "block3_cccp1": (8, 192), "classifier": (8, 10), "average": 10,
}  # fmt: skip
SHAPES = {
    "alexnet_cifar": {
        "conv1": (32, 32), "pool1": (16, 32), "act_conv1": (16, 32), "lrn1": (16, 32),
        "conv2": (16, 32), "act_conv2": (16, 32), "pool2": (8, 32), "lrn2": (8, 32),
        "conv3": (8, 64), "pool3": (4, 64), "flatten": 1024, "classifier": 10,
    },
    "nin": BLOCK_SHAPES,
    "dsn": BLOCK_SHAPES,
    "maxout": {
        "h0": (33, 192), "act_h0": (33, 96), "h0_pool": (16, 96), "h1": (15, 384),
        "act_h1": (15, 192), "h1_pool": (7, 192), "h2": (9, 384), "act_h2": (9, 192),
        "h2_pool": (5, 192), "flatten": 4800, "h3": 2500, "act_h3": 500,
        "classifier": 10,
    },
    "allcnn_c": {
        "conv1": (32, 96), "conv2": (32, 96), "conv3": (16, 96), "conv4": (16, 192),
        "conv5": (16, 192), "conv6": (8, 192), "conv7": (6, 192), "conv8": (6, 192),
        "classifier": (6, 10), "average": 10,
    },
    "highway_19": {
        "conv1": (32, 32), "conv5": (32, 32), "conv5_gate": (32, 32),
        "conv5_highway": (32, 32), "pool1": (16, 32),
        "conv6": (16, 80), "conv11": (16, 80), "conv11_gate": (16, 80),
        "conv11_highway": (16, 80), "pool2": (8, 80),
        "conv12": (8, 128), "conv17": (8, 128), "conv17_gate": (8, 128),
        "conv17_highway": (8, 128), "conv18": (8, 100), "average": 100,
        "classifier": 10,
    },
    "fmp": {
        "centre": (94, 3),
        **{
            f"conv{n}": (size, 32 * n)
            for n, size in enumerate(
                (93, 73, 57, 44, 34, 26, 20, 15, 11, 8, 5, 3, 1, 1), 1
            )
        },
        **{
            f"pool{n}": (size, 32 * n)
            for n, size in enumerate((74, 58, 45, 35, 27, 21, 16, 12, 9, 6, 4, 2), 1)
        },
        "flatten": 14 * 32, "classifier": 10,
    },
}  # fmt: skip
SMALL = {"fmp": {"filters": 32}}
each_net = pytest.mark.parametrize("name", SHAPES)


@pytest.fixture(scope="module")
def models():
    return {
        name: elu_zoo.get_model(name, **SMALL.get(name, {}), preprocessing=False) for name in SHAPES
    }


def convolutions(model):
    return [x for x in model.layers if isinstance(x, keras.layers.Conv2D)]


@each_net
def test_layers_have_the_output_shapes_of_the_originals(models, name):
    model = models[name]
    for layer, expected in SHAPES[name].items():
        sides = (expected[0],) * 2 if isinstance(expected, tuple) else ()
        channels = expected[1] if sides else expected
        assert model.get_layer(layer).output.shape[1:] == (*sides, channels), layer
    assert model.name == name and model.output_shape == (None, 10)


@each_net
def test_width_multiplies_the_filters(name):
    model = elu_zoo.get_model(
        name, width=0.5, num_classes=7, **SMALL.get(name, {}), preprocessing=False
    )
    for layer in convolutions(model):
        if layer.name in SHAPES[name].keys() - {"classifier"}:
            assert layer.filters == SHAPES[name][layer.name][1] // 2, layer.name
    assert model.output_shape == (None, 7)


@pytest.mark.parametrize(
    ("name", "shape", "layer", "size"),
    [
        ("alexnet_cifar", (32, 64, 1), "flatten", (4 * 8 * 64,)),
        ("nin", (33, 4, 3), "block3_conv", (8, 1, 192)),
        ("dsn", (64, 47, 3), "block3_conv", (16, 11, 192)),
        ("maxout", (8, 16, 3), "flatten", (2 * 3 * 192,)),
        ("allcnn_c", (9, 33, 3), "conv7", (1, 7, 192)),
        ("highway_19", (1, 37, 3), "conv18", (1, 10, 100)),
        ("fmp", (94, 9, 1), "centre", (94, 94, 1)),
    ],
)
def test_output_shapes_follow_the_size_of_the_images(name, shape, layer, size):
    model = elu_zoo.get_model(name, input_shape=shape, **SMALL.get(name, {}), preprocessing=False)
    assert model.get_layer(layer).output.shape[1:] == size


@each_net
def test_section_preprocessing_and_loss_are_registered(name):
    entry = elu_zoo.registry.entry(name)
    kinds = {
        "alexnet_cifar": "mean", "dsn": "gcn", "highway_19": "gcn_mean",
        "fmp": "rescale",
    }  # fmt: skip
    assert entry.preprocessing["kind"] == kinds.get(name, "gcn_zca")
    assert entry.preprocessing.get("statistics", "cifar10") == "cifar10"
    assert not entry.takes("dropout_placement")
    hinge = name == "dsn"
    assert entry.loss == ("squared_hinge" if hinge else "softmax_cross_entropy")


def test_fmp_scales_pixels_to_the_interval_from_minus_1_to_1():
    model = elu_zoo.get_model("fmp", width=0.02, preprocessing=True)
    centre = keras.Model(model.input, model.get_layer("centre").output)
    image = np.full((1, 32, 32, 3), 255, np.uint8)
    image[0, 0, 0] = 0
    field = np.asarray(centre(image))[0]
    np.testing.assert_allclose(field[31, 31], -1, atol=1e-6)
    np.testing.assert_allclose(field[62, 62], 127 / 128, atol=1e-6)
    assert field[0, 0].tolist() == [0, 0, 0] and math.isclose(np.abs(field).max(), 1)
