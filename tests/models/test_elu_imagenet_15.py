"""elu_imagenet_15 has the paper's layers and map sizes; its logits equal NumPy's."""

import keras
import numpy as np
import pytest
from reference_stacks import noise, pool, randomize

import elu_zoo
from elu_zoo import errors, registry
from elu_zoo.layers import Dropout
from elu_zoo.models.elu_imagenet_15 import elu_imagenet_15

DEFAULTS = {
    "num_classes": 5, "input_shape": (32, 32, 3), "width": 0.01, "seed": 5,
    "stem_stride": 1, "spp_levels": (1, 2),
}  # fmt: skip

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


def small(**changes):
    return elu_imagenet_15(**{**DEFAULTS, **changes})


def weights_of(model, name):
    return (np.asarray(w, np.float64) for w in model.get_layer(name).weights)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def convolve(x, model, name, stride):
    """Returns the output of a convolution with "same" padding.

    An odd number of padding zeros is split unequally: the larger half is at the end.
    """
    kernel, bias = weights_of(model, name)
    field, padding = len(kernel), []
    for size in x.shape[1:3]:
        total = max(field + (-(-size // stride) - 1) * stride - size, 0)
        padding.append((total // 2, total - total // 2))
    x = np.pad(x, ((0, 0), *padding, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (field, field), (1, 2))
    windows = windows[:, ::stride, ::stride]
    return np.einsum("bhwcij,ijcd->bhwd", windows, kernel, optimize=True) + bias


def pyramid(x, levels):
    """Pools into bins; map sides must be n or n - 1 for a multiple n of each level."""
    pooled = []
    for bins in levels:
        field = [-(-n // bins) for n in x.shape[1:3]]
        padding = [(bins * f - n, 0) for f, n in zip(field, x.shape[1:3], strict=True)]
        assert max(padding)[0] < 2
        padded = np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=-np.inf)
        shape = len(x), bins, field[0], bins, field[1], x.shape[-1]
        pooled.append(padded.reshape(shape).max((2, 4)).reshape(len(x), -1))
    return np.concatenate(pooled, axis=1)


def forward(model, x, stride, levels):
    x = np.asarray(x, np.float64)
    for i, count in enumerate((1, 3, 5, 3), 1):
        for j in range(1, count + 1):
            conv_stride = stride if i == j == 1 else 1
            x = elu(convolve(x, model, f"stack{i}_conv{j}", conv_stride))
        x = pool(x)
    x = pyramid(x, levels)
    for name in ("dense1", "dense2"):
        kernel, bias = weights_of(model, name)
        x = elu(x @ kernel + bias)
    kernel, bias = weights_of(model, "classifier")
    return x @ kernel + bias


@pytest.mark.parametrize(
    ("shape", "stride", "levels"),
    [
        ((97, 97, 3), 2, (1, 2, 4)),
        ((32, 32, 3), 1, (1, 2)),
        ((61, 48, 2), 1, (2, 1)),
        ((32, 57, 3), 4, (1,)),
        ((1, 1, 1), 1, (1,)),
    ],
)
def test_logits_equal_those_of_the_numpy_forward_pass(shape, stride, levels):
    model = small(input_shape=shape, stem_stride=stride, spp_levels=levels, width=0.02)
    images = noise(shape)
    expected = forward(randomize(model), images, stride, levels)
    assert expected.std() > 0.1
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=2e-5)


def test_raw_images_are_cropped_and_the_mean_is_subtracted(write_mean):
    draws = np.random.default_rng(2)
    mean = draws.uniform(100, 150, (40, 36, 3)).astype(np.float32)
    write_mean("forty", mean)
    crop = {"kind": "mean_crop", "statistics": "forty", "crop": (32, 32)}
    model, bare = small(preprocessing=crop), small()
    images = draws.integers(0, 256, (2, 40, 36, 3), "uint8")
    inputs = (images - mean)[:, 4:36, 2:34]
    logits, expected = np.asarray(model(images)), np.asarray(bare(inputs))
    np.testing.assert_allclose(logits, expected, atol=1e-5 * np.abs(expected).max())
    with pytest.raises(errors.UsageError, match=r"shape \(32, 32, 3\).*\(64, 64, 3\)"):
        small(preprocessing=crop, input_shape=(64, 64, 3))


def test_the_preprocessing_is_the_mean_image_where_it_is_chosen(write_mean):
    entry = registry.entry("elu_imagenet_15")
    assert not entry.takes("dropout_placement")
    write_mean("imagenet2012", np.full((256, 256, 3), 120))
    other = elu_zoo.get_model("elu_imagenet_15", width=0.01, input_shape=(97, 99, 3))
    assert other.input_shape == (None, 97, 99, 3)
    assert elu_zoo.get_model("elu_imagenet_15", width=0.01).input_shape == (None, 224, 224, 3)
    raw = elu_zoo.get_model("elu_imagenet_15", width=0.01, preprocessing="imagenet2012")
    assert raw.input_shape == (None, 256, 256, 3)
    assert raw.get_layer("centre_crop").output.shape == (None, 224, 224, 3)
    assert raw.get_layer("stack1_conv1").input.shape == (None, 224, 224, 3)


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


@pytest.mark.parametrize(("arguments", "rate"), [({}, 0.5), ({"dropout": 0.25}, 0.25)])
def test_dropout_follows_the_dense_layers(arguments, rate):
    model = elu_imagenet_15(width=0.01, input_shape=(97, 97, 3), **arguments)
    layers = {x.name: x for x in model.layers if isinstance(x, Dropout)}
    assert {name: x.rate for name, x in layers.items()} == {
        "dense1_drop": rate,
        "dense2_drop": rate,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stem_stride": 0}, "stem_stride must be an integer >= 1. Received: 0"),
        ({"spp_levels": (1, 0)}, r"levels of a pyramid.*Received: \(1, 0\)"),
        ({"spp_levels": (1, 3)}, r"least 33 x 33 .* spp_levels=\(1, 3\). Received:"),
        ({"dropout": 1}, r"must be in \[0, 1\). Received: 1"),
        ({"input_shape": (16, 32, 3)}, "at least 17 x 17 for stem_stride=1"),
        ({"input_shape": (32, 16, 3)}, "Pass a larger input_shape or smaller levels"),
    ],
    ids=repr,
)
def test_wrong_arguments_raise_a_usage_error(changes, message):
    with pytest.raises(errors.UsageError, match=message):
        small(**changes)
