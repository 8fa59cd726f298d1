"""The graph of elu_imagenet_15 has the paper's layers, map sizes and kernels."""

import keras
import numpy as np
import pytest

from elu_zoo.layers import Dropout
from elu_zoo.models.elu_imagenet_15 import elu_imagenet_15

# For each stack: number of convolutions, units at width=0.01, side of the kernels.
STACKS = [(1, 1, 6), (3, 5, 3), (5, 8, 3), (3, 10, 3)]
# Side of the image, stride, levels, and for each stack the side of the maps before and,
# if a pooling layer follows, after the pooling.
SIZES = [
    (224, 2, (1, 2, 4), "112>56 56>28 28>14 14>7"),
    (97, 2, (1, 2, 4), "49>25 25>13 13>7 7>4"),
    (96, 2, (1, 2, 3), "48>24 24>12 12>6 6>3"),
    (32, 1, (1, 2), "32>16 16>8 8>4 4>2"),
    (3, 2, (1,), "2>1 1 1 1"),
]


@pytest.mark.parametrize(("side", "stride", "levels", "sizes"), SIZES)
def test_maps_have_the_expected_sizes(side, stride, levels, sizes):
    model = elu_imagenet_15(
        width=0.01, input_shape=(side, side, 3), stem_stride=stride, spp_levels=levels
    )
    shapes = {x.name: tuple(x.output.shape[1:]) for x in model.layers}
    for i, (stack, (count, units, _)) in enumerate(zip(sizes.split(), STACKS, strict=True), 1):
        before, _, after = stack.partition(">")
        for j in range(1, count + 1):
            assert shapes[f"stack{i}_conv{j}"] == (int(before), int(before), units)
        expected = (int(after), int(after), units) if after else None
        assert shapes.get(f"stack{i}_pool") == expected, i
    assert shapes["pyramid"] == (10 * sum(n * n for n in levels),)
    assert shapes["dense1"] == shapes["dense2"] == (41,)
    assert model.output_shape == (None, 1000)


def test_maps_of_rectangular_images_have_the_expected_sizes():
    model = elu_imagenet_15(width=0.01, input_shape=(97, 224, 1))
    maps = [model.get_layer(f"stack{i}_pool").output.shape[1:3] for i in (1, 2, 3, 4)]
    assert maps == [(25, 56), (13, 28), (7, 14), (4, 7)]


@pytest.mark.parametrize(("batch_norm", "raw"), [(False, True), (True, False)])
def test_layers_are_a_chain_in_this_order(batch_norm, raw, write_mean):
    write_mean("black", np.zeros((256, 256, 3)))
    crop = {"kind": "mean_crop", "statistics": "black", "crop": (224, 224)}
    model = elu_imagenet_15(width=0.01, batch_norm=batch_norm, preprocessing=crop if raw else None)
    names = ["image", *["subtract_mean", "centre_crop"] * raw]

    def site(name):
        return [name, *[f"norm_{name}"] * batch_norm, f"act_{name}"]

    for i, (count, _, _) in enumerate(STACKS, 1):
        for j in range(1, count + 1):
            names += site(f"stack{i}_conv{j}")
        names.append(f"stack{i}_pool")
    names += ["pyramid", *site("dense1"), "dense1_drop", *site("dense2"), "dense2_drop"]
    assert [layer.name for layer in model.layers] == [*names, "classifier"]
    for before, after in zip(model.layers, model.layers[1:], strict=False):
        assert after.input is before.output, after.name
    assert model.output is model.layers[-1].output
    assert model.name == "elu_imagenet_15"
    activations = {x.activation for x in model.layers if hasattr(x, "kernel")}
    assert activations == {keras.activations.linear}


@pytest.mark.parametrize("stride", [2, 4])
def test_kernels_have_the_shapes_of_the_paper(stride):
    model = elu_imagenet_15(width=0.01, stem_stride=stride, num_classes=7)
    expected, channels = {}, 3
    for i, (count, units, field) in enumerate(STACKS, 1):
        for j in range(1, count + 1):
            expected[f"stack{i}_conv{j}"] = (field, field, channels, units)
            channels = units
    expected |= {"dense1": (210, 41), "dense2": (41, 41), "classifier": (41, 7)}
    linear = [x for x in model.layers if hasattr(x, "kernel")]
    assert {x.name: tuple(x.kernel.shape) for x in linear} == expected
    assert all(x.use_bias for x in linear)
    strides = {x.name: x.strides for x in linear if isinstance(x, keras.layers.Conv2D)}
    assert strides.pop("stack1_conv1") == (stride, stride)
    assert set(strides.values()) == {(1, 1)}


@pytest.mark.parametrize(("arguments", "rate"), [({}, 0.5), ({"dropout": 0.25}, 0.25)])
def test_dropout_follows_the_dense_layers(arguments, rate):
    model = elu_imagenet_15(width=0.01, input_shape=(97, 97, 3), **arguments)
    layers = {x.name: x for x in model.layers if isinstance(x, Dropout)}
    assert {name: x.rate for name, x in layers.items()} == {
        "dense1_drop": rate,
        "dense2_drop": rate,
    }
