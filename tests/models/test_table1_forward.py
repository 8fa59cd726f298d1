"""The logits of the networks of table 1 are compared with NumPy in float64."""

import numpy as np
import pytest

import elu_zoo
from elu_zoo.models.blocks import remove_heads


def images(shape=(32, 32, 3), count=2):
    return np.random.default_rng(0).standard_normal((count, *shape)).astype(np.float32)


def narrow(name, **arguments):
    """Returns a network of small width with random biases."""
    model = elu_zoo.get_model(name, **{"preprocessing": False, "width": 0.05, **arguments})
    draws = np.random.default_rng(1)
    for weight in model.weights:
        if weight.name == "bias":
            weight.assign(np.asarray(weight) + draws.normal(0, 0.1, weight.shape))
        if weight.name == "kernel" and name in ("maxout", "alexnet_cifar"):
            # With the small initial kernels the image would hardly change the logits.
            weight.assign(weight * (0.1 / np.std(weight)))
    return model


def convolve(model, name, x, zeros, stride=1):
    kernel, bias = (np.asarray(w, np.float64) for w in model.get_layer(name).weights)
    x = np.pad(x, ((0, 0), (zeros, zeros), (zeros, zeros), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[:2], (1, 2))
    windows = windows[:, ::stride, ::stride]
    return np.einsum("bhwcij,ijcd->bhwd", windows, kernel) + bias


def dense(model, name, x):
    kernel, bias = (np.asarray(w, np.float64) for w in model.get_layer(name).weights)
    return x.reshape(len(x), -1) @ kernel + bias


def pool(x, size, combine, stride=2):
    """Pools as Caffe does: the last window may extend beyond the map."""
    counts = [-(-(n - size) // stride) + 1 for n in x.shape[1:3]]
    rows = [
        [
            combine(x[:, i : i + size, j : j + size], (1, 2))
            for j in range(0, counts[1] * stride, stride)
        ]
        for i in range(0, counts[0] * stride, stride)
    ]
    return np.stack([np.stack(row, 1) for row in rows], 1)


def relu(x):
    return np.maximum(x, 0)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def check(model, x, expected):
    assert expected.std() > 1e-3
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(model(x)), expected, atol=2e-5 * scale)


def normalise(x):
    """Normalises by the sum of squares of 3 x 3 neighbours / 9, even at the border."""
    padded = np.pad(x**2, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return x * (1 + 5e-5 / 9 * windows.sum((-1, -2))) ** -0.75


@pytest.mark.parametrize(("activation", "act"), [("relu", relu), ("elu", elu)])
def test_logits_of_alexnet_cifar(activation, act):
    model = narrow("alexnet_cifar", activation=activation, width=0.1)
    pixels = 50 * images()  # smaller values would hardly be normalised
    x = pool(convolve(model, "conv1", pixels, 2), 3, np.max)
    x = normalise(act(x))
    x = normalise(pool(act(convolve(model, "conv2", x, 2)), 3, np.mean))
    x = pool(act(convolve(model, "conv3", x, 2)), 3, np.mean)
    check(model, pixels, dense(model, "classifier", x))


def class_maps(model, x, act):
    """Returns the class maps, and the output of each block's first convolution.

    No activation has been applied to either.
    """
    first_outputs = []
    for i, (zeros, names) in enumerate(
        [(2, ["conv", "cccp1", "cccp2"])] * 2 + [(1, ["conv", "cccp1"])], 1
    ):
        for name in names:
            x = convolve(model, f"block{i}_{name}", x, zeros if name == "conv" else 0)
            first_outputs += [x] * (name == "conv")
            x = act(x)
        x = pool(x, 3, np.max) if i < 3 else x
    return convolve(model, "classifier", x, 0), first_outputs


@pytest.mark.parametrize(("activation", "act"), [("relu", relu), ("elu", elu)])
def test_nin_activates_the_class_maps(activation, act):
    model = narrow("nin", activation=activation)
    maps, _ = class_maps(model, images(), act)
    assert (maps < 0).any() and (maps > 0).any()
    check(model, images(), act(maps).mean((1, 2)))


def test_dsn_does_not_activate_the_class_maps():
    model = narrow("dsn")
    maps, _ = class_maps(model, images(), relu)
    check(model, images(), maps.mean((1, 2)))


def test_heads_of_dsn_precede_the_activation_and_can_be_removed():
    model = narrow("dsn", auxiliary_heads=True, batch_norm=False, num_classes=7)
    maps, first_outputs = class_maps(model, images(), relu)
    heads = [dense(model, f"head{i}", x) for i, x in enumerate(first_outputs, 1)]
    expected = np.stack([maps.mean((1, 2)), *heads], 1)
    assert expected.shape == (2, 4, 7)
    check(model, images(), expected)
    assert model.layers[-1].name == "heads" and model.layers[-1].active
    headless = remove_heads(model)
    check(headless, images(), expected[:, 0])
    fresh = elu_zoo.get_model("dsn", width=0.05, num_classes=7, preprocessing=False)
    assert [x.path for x in headless.weights] == [x.path for x in fresh.weights]


def test_heads_of_dsn_precede_the_normalisation():
    model = elu_zoo.get_model(
        "dsn", auxiliary_heads=True, batch_norm=True, width=0.02, preprocessing=False
    )
    for i in (1, 2, 3):
        flat = model.get_layer(f"head{i}_flatten")
        assert flat.input is model.get_layer(f"block{i}_conv").output


def test_logits_of_maxout():
    """The spatial maximum is computed before the maximum over pieces."""
    model = narrow("maxout", width=0.04)
    x = images()
    for name, zeros, size in (("h0", 4, 4), ("h1", 3, 4), ("h2", 3, 2)):
        x = pool(convolve(model, name, x, zeros), size, np.max)
        x = x.reshape(*x.shape[:3], -1, 2).max(-1)
    x = dense(model, "h3", x).reshape(2, -1, 5).max(-1)
    check(model, images(), dense(model, "classifier", x))


def test_input_dropout_of_maxout_is_not_scaled():
    model = elu_zoo.get_model("maxout", width=0.02, preprocessing=False)
    dropouts = [x for x in model.layers if x.name.endswith("_drop")]
    assert [x.scaled for x in dropouts] == [False] + [True] * 4


def test_logits_of_maxout_with_an_activation_of_one_filter_per_unit():
    model = narrow("maxout", activation="elu", width=0.04)
    x = images()
    for name, zeros, size in (("h0", 4, 4), ("h1", 3, 4), ("h2", 3, 2)):
        x = pool(elu(convolve(model, name, x, zeros)), size, np.max)
    x = elu(dense(model, "h3", x))
    check(model, images(), dense(model, "classifier", x))


@pytest.mark.parametrize("side", [32, 37])
def test_logits_of_allcnn_c(side):
    """Convolutions with a stride of 2 are padded on all four sides."""
    x, model = images((side, side, 3)), narrow("allcnn_c", input_shape=(side, side, 3))
    for i in range(1, 9):
        zeros, stride = int(i < 7), 2 if i in (3, 6) else 1
        x = relu(convolve(model, f"conv{i}", x, zeros, stride))
    maps = convolve(model, "classifier", x, 0)
    check(model, images((side, side, 3)), relu(maps).mean((1, 2)))


def test_logits_of_highway_19():
    model, x, layer = narrow("highway_19"), images(), 0
    for i, highways in enumerate((4, 5, 5), 1):
        layer += 1
        x = relu(convolve(model, f"conv{layer}", x, 1))
        for _ in range(highways):
            layer += 1
            gate = convolve(model, f"conv{layer}_gate", x, 1)
            transform = 1 / (1 + np.exp(-gate))
            h = relu(convolve(model, f"conv{layer}", x, 1))
            x = transform * h + (1 - transform) * x
        x = pool(x, 2, np.max) if i < 3 else x
    x = relu(convolve(model, "conv18", x, 0)).mean((1, 2))
    check(model, images(), dense(model, "classifier", x))


def pool_fractionally(x, outputs):
    """Pools 2 x 2 regions, which start at the positions of Graham's formula."""
    for axis in (1, 2):
        alpha = (x.shape[axis] - 2) / (outputs - 1)
        first = int(0.5 * alpha + 1e-9)  # 1e-9 outweighs rounding errors
        starts = [int((j + 0.5) * alpha + 1e-9) - first for j in range(outputs)]
        pairs = np.take(x, starts, axis), np.take(x, np.add(starts, 1), axis)
        x = np.maximum(*pairs)
    return x


def test_logits_of_fmp():
    """The image is surrounded by zeros; at inference, dropout scales the maps."""
    shape = (17, 32, 3)
    model = narrow("fmp", filters=4, width=1.0, input_shape=shape)
    x = np.zeros((2, 94, 94, 3))
    x[:, 38:55, 31:63] = images(shape)
    sizes = (74, 58, 45, 35, 27, 21, 16, 12, 9, 6, 4, 2)
    for n in range(1, 15):
        x = convolve(model, f"conv{n}", x, 0)
        x = np.where(x > 0, x, x / 3)
        x = pool_fractionally(x, sizes[n - 1]) if n <= len(sizes) else x
        x = x * (1 - 0.5 * (n - 1) / 13)
    assert x.shape == (2, 1, 1, 14 * 4)
    check(model, images(shape), dense(model, "classifier", x))


@pytest.mark.parametrize(
    "arguments, maps_kept_by_convolution",
    [
        ({"filters": 32, "dropout": 0.1}, {1: 32, 2: 64, 13: 384, 14: 416}),
        ({"filters": 32, "dropout": 0.99}, {1: 32, 2: 64, 14: 32}),
        ({"filters": 4}, {1: 4, 2: 7.692, 14: 28}),
    ],
)
def test_fmp_keeps_multiples_of_32_maps_if_possible(arguments, maps_kept_by_convolution):
    model = elu_zoo.get_model("fmp", width=0.01, **arguments, preprocessing=False)
    for n, count in maps_kept_by_convolution.items():
        rate = model.get_layer(f"conv{n}_drop").rate
        maps = n * arguments.get("filters", 160)
        assert maps * (1 - rate) == pytest.approx(count, abs=1e-3)
