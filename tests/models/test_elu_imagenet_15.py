"""The ImageNet network against NumPy in float64, its initial state, its refusals.

Its graph is in test_elu_imagenet_graph.py.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors, registry
from elu_zoo.models import elu_imagenet_15

LINEAR = [
    "stack1_conv1",
    *[f"stack2_conv{j}" for j in (1, 2, 3)],
    *[f"stack3_conv{j}" for j in (1, 2, 3, 4, 5)],
    *[f"stack4_conv{j}" for j in (1, 2, 3)],
    "dense1",
    "dense2",
    "classifier",
]
DEFAULTS = {
    "num_classes": 5, "input_shape": (32, 32, 3), "width": 0.01, "seed": 5,
    "stem_stride": 1, "spp_levels": (1, 2),
}  # fmt: skip


def small(**changes):
    return elu_imagenet_15(**{**DEFAULTS, **changes})


def noise(shape, count=3, seed=0):
    draws = np.random.default_rng(seed).standard_normal((count, *shape))
    return draws.astype(np.float32)


def randomize(model):
    """Gives biases values of their own too."""
    draws = np.random.default_rng(1)
    for weight in model.weights:
        if weight.name == "bias":
            weight.assign(draws.normal(0, 0.3, weight.shape))
    return model


def kernels(model):
    return {x.name: np.asarray(x.kernel) for x in model.layers if hasattr(x, "kernel")}


# The same in NumPy.


def weights_of(model, name):
    return (np.asarray(w, np.float64) for w in model.get_layer(name).weights)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def convolved(x, model, name, stride):
    """As many outputs as strides fit; of an odd number of zeros most come last."""
    kernel, bias = weights_of(model, name)
    field, pads = len(kernel), []
    for size in x.shape[1:3]:
        zeros = max(field + (-(-size // stride) - 1) * stride - size, 0)
        pads.append((zeros // 2, zeros - zeros // 2))
    x = np.pad(x, ((0, 0), *pads, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (field, field), (1, 2))
    windows = windows[:, ::stride, ::stride]
    return np.einsum("bhwcij,ijcd->bhwd", windows, kernel, optimize=True) + bias


def pooled(x):
    """The largest of 2 x 2; the last row and column of an odd map are pooled too."""
    if x.shape[1:3] == (1, 1):
        return x
    odd = [(0, size % 2) for size in x.shape[1:3]]
    x = np.pad(x, ((0, 0), *odd, (0, 0)), constant_values=-np.inf)
    return np.maximum.reduce([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])


def pyramid(x, levels):
    """Of maps whose sides the bins divide, or are one less than that."""
    result = []
    for bins in levels:
        field = [-(-n // bins) for n in x.shape[1:3]]
        odd = [(bins * f - n, 0) for f, n in zip(field, x.shape[1:3], strict=True)]
        assert max(odd)[0] < 2
        whole = np.pad(x, ((0, 0), *odd, (0, 0)), constant_values=-np.inf)
        shape = len(x), bins, field[0], bins, field[1], x.shape[-1]
        result.append(whole.reshape(shape).max((2, 4)).reshape(len(x), -1))
    return np.concatenate(result, axis=1)


def forward(model, x, stride, levels):
    x = np.asarray(x, np.float64)
    for i, count in enumerate((1, 3, 5, 3), 1):
        for j in range(1, count + 1):
            x = elu(
                convolved(x, model, f"stack{i}_conv{j}", stride if i == j == 1 else 1)
            )
        x = pooled(x)
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
        ((224, 120, 3), 2, (1, 2, 4)),
        ((32, 32, 3), 1, (1, 2)),
        ((61, 48, 2), 1, (2, 1)),
        ((32, 57, 3), 4, (1,)),
        ((1, 1, 1), 1, (1,)),
    ],
)
def test_network(shape, stride, levels):
    model = small(input_shape=shape, stem_stride=stride, spp_levels=levels, width=0.02)
    images = noise(shape)
    expected = forward(randomize(model), images, stride, levels)
    assert expected.std() > 0.1
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=2e-5)


def test_raw_images(write_mean):
    """The mean and the centre of 40 x 36 pixels."""
    draws = np.random.default_rng(2)
    mean = draws.uniform(100, 150, (40, 36, 3)).astype(np.float32)
    write_mean("forty", mean)
    crop = {"kind": "mean_crop", "statistics": "forty", "crop": (32, 32)}
    model, plain = small(preprocessing=crop), small()
    images = draws.integers(0, 256, (2, 40, 36, 3), "uint8")
    inputs = (images - mean)[:, 4:36, 2:34]
    found, expected = np.asarray(model(images)), np.asarray(plain(inputs))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    with pytest.raises(errors.UsageError, match=r"images \(32, 32, 3\).*\(64, 64, 3\)"):
        small(preprocessing=crop, input_shape=(64, 64, 3))


def test_registered(write_mean):
    entry = registry.entry("elu_imagenet_15")
    assert entry.builder is elu_imagenet_15 and entry.section == "4.4, figure 6"
    assert (entry.classifier, entry.code, entry.is_phased) == (
        "classifier",
        None,
        False,
    )
    assert entry.any_size and entry.loss == "softmax_cross_entropy"
    assert entry.default("num_classes") == 1000
    with pytest.raises(errors.NotFoundError, match="no mean image 'imagenet2012'"):
        elu_zoo.get_model("elu_imagenet_15", width=0.01, preprocessing=True)
    write_mean("imagenet2012", np.full((256, 256, 3), 120))
    raw = elu_zoo.get_model("elu_imagenet_15", width=0.01, preprocessing=True)
    assert raw.input_shape == (None, 256, 256, 3)
    assert raw.get_layer("centre_crop").output.shape == (None, 224, 224, 3)
    assert raw.get_layer("stack1_conv1").input.shape == (None, 224, 224, 3)


# Initial weights and penalties.


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "relu"},
        {"activation": {"name": "elu", "alpha": 0.5}},
        {"activation": "prelu", "batch_norm": True},
        {"dropout": 0.0},
        {"kernel_decay": 0.1},
        {"conv_dtype": "bfloat16"},
        {"input_shape": (70, 97, 3)},
        {"stem_stride": 2, "input_shape": (64, 64, 3)},
        {"spp_levels": [1, 2]},
    ],
    ids=repr,
)
def test_equal_initial_weights(changes):
    expected, found = kernels(small()), kernels(small(**changes))
    assert list(found) == list(expected) == LINEAR
    for name, kernel in found.items():
        np.testing.assert_array_equal(kernel, expected[name], name)


def test_seeds_differ():
    other = kernels(small(seed=6))
    assert all((kernel != other[n]).all() for n, kernel in kernels(small()).items())
    layers = [
        small(seed=seed).get_layer(f"dense{i}_drop") for seed in (5, 6) for i in (1, 2)
    ]
    assert len({layer.seed for layer in layers}) == 4


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_initial_weights(scale):
    model = small(width=0.05, num_classes=40, init_scale=scale)
    for name, kernel in kernels(model).items():
        variance = np.mean(kernel.astype(np.float64) ** 2)
        variance *= np.prod(kernel.shape[:-1]) / scale
        assert abs(variance - 1) < 4 * np.sqrt(2 / kernel.size), name
    biases = [w for w in model.weights if w.name == "bias"]
    assert len(biases) == 15 and not any(np.asarray(w).any() for w in biases)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_kernel_decay(batch_norm):
    model = randomize(small(kernel_decay=0.5, batch_norm=batch_norm))
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        penalty = sum(model.losses)
    gradients = tape.gradient(penalty, [w.value for w in weights])
    decayed = {w.path for w, g in zip(weights, gradients, strict=True) if g is not None}
    assert decayed == {f"{name}/kernel" for name in LINEAR}
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            np.testing.assert_allclose(gradient, 0.5 * np.asarray(weight), rtol=1e-6)
    assert small().losses == []


# Precision.


def test_conv_dtype():
    model = randomize(small(conv_dtype="bfloat16", width=0.03, batch_norm=True))
    halves = {x.name for x in model.layers if x.compute_dtype == "bfloat16"}
    assert halves == set(LINEAR[:12])
    assert {w.dtype for w in model.weights} == {"float32"}
    images = noise((32, 32, 3))
    plain = np.asarray(randomize(small(width=0.03, batch_norm=True))(images))
    found = np.asarray(model(images))
    assert found.dtype == np.float32 and (found != plain).all()
    np.testing.assert_allclose(found, plain, rtol=0, atol=0.03 * np.abs(plain).max())


def test_logits_stay_float32_under_a_users_own_policy():
    policy = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        mixed = small()
    finally:
        keras.config.set_dtype_policy(policy)
    wide = {x.name for x in mixed.layers if x.compute_dtype == "float32"}
    assert wide - {"image"} == {"classifier"}
    assert mixed(noise((32, 32, 3))).dtype == "float32"


# Arguments.


@pytest.mark.parametrize(
    ("width", "units"),
    [
        (0.01, [1, *[5] * 3, *[8] * 5, *[10] * 3, 41, 41, 5]),
        (0.02, [2, *[10] * 3, *[15] * 5, *[20] * 3, 82, 82, 5]),
        (0.001, [*[1] * 12, 4, 4, 5]),
    ],
)
def test_width(width, units):
    """The classifier's units are the classes."""
    found = kernels(small(width=width))
    assert [kernel.shape[-1] for kernel in found.values()] == units


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "eluu"}, "Unknown activation 'eluu'. Did you mean 'elu'"),
        ({"batch_norm": 1}, "batch_norm is True or False. Received: 1"),
        ({"num_classes": 0}, "num_classes is an integer >= 1. Received: 0"),
        ({"input_shape": (3, 32, 32)}, r"channels first.*\(32, 32, 3\)"),
        ({"width": 0}, "finite number > 0. Received: 0"),
        ({"seed": -1}, "seed is an integer >= 0. Received: -1"),
        (
            {"preprocessing": {"kind": "crop"}},
            "Unknown preprocessing 'crop'.*mean_crop",
        ),
        ({"stem_stride": 0}, "stem_stride is an integer >= 1. Received: 0"),
        ({"stem_stride": 2.0}, "stem_stride is an integer >= 1. Received: 2.0"),
        ({"stem_stride": True}, "stem_stride is an integer >= 1. Received: True"),
        ({"spp_levels": ()}, r"levels of a pyramid are integers >= 1.*Received: \(\)"),
        ({"spp_levels": (1, 0)}, r"levels of a pyramid.*Received: \(1, 0\)"),
        ({"spp_levels": 3}, "levels of a pyramid.*Received: 3"),
        ({"spp_levels": (1, 3)}, r"\(1, 3\) takes a map .* at least 3 x 3. Received:"),
        ({"dropout": 1}, r"rate is in \[0, 1\). Received: 1"),
        ({"dropout": -0.1}, r"rate is in \[0, 1\). Received: -0.1"),
        ({"dropout": float("nan")}, r"rate is in \[0, 1\). Received: nan"),
        ({"dropout": (0.5, 0.5)}, r"rate is in \[0, 1\). Received: \(0.5, 0.5\)"),
        ({"dropout": True}, r"rate is in \[0, 1\). Received: True"),
        ({"kernel_decay": -1}, "kernel_decay is finite and >= 0. Received: -1"),
        ({"kernel_decay": float("inf")}, "kernel_decay .* Received: inf"),
        ({"init_scale": 0}, "init_scale is finite and > 0. Received: 0"),
        ({"conv_dtype": "float16"}, "Unknown conv_dtype.*Known: float32, bfloat16"),
    ],
    ids=repr,
)
def test_refused_arguments(changes, message):
    with pytest.raises(errors.UsageError, match=message):
        small(**changes)


@pytest.mark.parametrize("shape", [(96, 224, 3), (224, 96, 3), (96, 96, 3)])
def test_refuses_images_smaller_than_the_pyramid(shape):
    message = r"levels \(1, 2, 4\) takes a map .* 4 x 4.*Take larger images, or fewer"
    with pytest.raises(errors.UsageError, match=message):
        elu_imagenet_15(width=0.01, input_shape=shape)
