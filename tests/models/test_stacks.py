"""Stacks of convolutions: their numbers against NumPy in float64, what they refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors
from elu_zoo.layers import Dropout
from elu_zoo.models import elu_cifar_11
from elu_zoo.models.stacks import check_dropout, conv_stacks, set_dropout

# The convolutions of each stack, without the classifier.
COUNTS = {
    "elu_cifar_11": [1, 2, 2, 2, 2, 1],
    "elu_cifar_18": [1, 4, 4, 3, 3, 2, 1],
}
SMALL = {
    "name": "small", "activation": "elu", "batch_norm": False, "num_classes": 3,
    "input_shape": (13, 9, 2), "width": 1.0, "seed": 5, "preprocessing": None,
    "padding": "caffe", "dropout": (0.25, 0.5, 0.0), "dropout_placement": "last",
    "kernel_decay": 0.0, "init_scale": 1.0, "initial_kernels": "normal",
    "conv_dtype": "float32",
}  # fmt: skip
STACKS = (((2, 4, 3),), ((1, 5, 1), (1, 6, 2)))


def small(stacks=STACKS, **changes):
    return conv_stacks(stacks, **{**SMALL, **changes})


def noise(shape, count=4, seed=0):
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
    return {
        x.name: np.asarray(x.kernel)
        for x in model.layers
        if isinstance(x, keras.layers.Conv2D)
    }


# The same in NumPy.


def convolved(x, layer, padding):
    kernel, bias = (np.asarray(w, np.float64) for w in layer.weights)
    field = len(kernel)
    before = after = field // 2  # zeros on each side: one, of a 2 x 2 field
    if field % 2 == 0 and padding == "same":
        before -= 1
    x = np.pad(x, ((0, 0), (before, after), (before, after), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (field, field), (1, 2))
    return np.einsum("bhwcij,ijcd->bhwd", windows, kernel) + bias


def pooled(x):
    """The largest of 2 x 2; the last row and column of an odd map are pooled too."""
    if x.shape[1:3] == (1, 1):
        return x
    odd = [(0, size % 2) for size in x.shape[1:3]]
    x = np.pad(x, ((0, 0), *odd, (0, 0)), constant_values=-np.inf)
    return np.maximum.reduce([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)])


def forward(model, counts, x, padding):
    """Logits of stacks with these numbers of convolutions."""
    x = np.asarray(x, np.float64)
    for i, count in enumerate(counts, 1):
        for j in range(1, count + 1):
            x = convolved(x, model.get_layer(f"stack{i}_conv{j}"), padding)
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        x = pooled(x)
    x = pooled(convolved(x, model.get_layer("classifier"), padding))
    return x.mean((1, 2))


@pytest.mark.parametrize("padding", ["caffe", "same"])
@pytest.mark.parametrize(
    ("name", "width", "shape"),
    [
        ("elu_cifar_11", 0.05, (32, 32, 3)),
        ("elu_cifar_11", 0.02, (21, 150, 3)),
        ("elu_cifar_18", 0.03, (32, 32, 3)),
    ],
)
def test_network(name, width, shape, padding):
    model = elu_zoo.get_model(
        name, width=width, input_shape=shape, padding=padding, preprocessing=False
    )
    images = noise(shape)
    expected = forward(randomize(model), COUNTS[name], images, padding)
    assert expected.std() > 0.01
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=1e-5)


@pytest.mark.parametrize("padding", ["caffe", "same"])
@pytest.mark.parametrize("shape", [(13, 9, 2), (7, 8, 2), (3, 2, 1), (1, 1, 1)])
def test_small(shape, padding):
    model = randomize(small(input_shape=shape, padding=padding))
    images = noise(shape)
    expected = forward(model, [2, 2], images, padding)
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=1e-5)


def test_what_is_left_of_the_map_is_averaged():
    model = randomize(small(input_shape=(32, 24, 2)))
    before = keras.Model(model.input, model.get_layer("stack3_drop").output)
    images = noise((32, 24, 2))
    positions = np.asarray(before(images), np.float64)
    assert positions.shape == (4, 5, 4, 3)
    np.testing.assert_allclose(np.asarray(model(images)), positions.mean((1, 2)), 1e-5)


@pytest.mark.parametrize(
    ("width", "units"),
    [(1.0, [4, 4, 5, 6, 3]), (2, [8, 8, 10, 12, 3]), (0.01, [1, 1, 1, 1, 3])],
)
def test_width(width, units):
    """The classifier's units are the classes."""
    found = kernels(small(width=width))
    assert [kernel.shape[-1] for kernel in found.values()] == units


# Initial weights and penalties.


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "relu"},
        {"activation": {"name": "elu", "alpha": 0.5}},
        {"activation": "prelu", "batch_norm": True},
        {"padding": "same"},
        {"dropout_placement": "all"},
        {"dropout": (0.0, 0.0, 0.5)},
        {"kernel_decay": 0.1},
        {"conv_dtype": "bfloat16"},
        {"input_shape": (32, 32, 2)},
    ],
)
def test_equal_initial_weights(changes):
    expected, found = kernels(small()), kernels(small(**changes))
    assert found.keys() == expected.keys()
    for name, kernel in found.items():
        np.testing.assert_array_equal(kernel, expected[name], name)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_initial_weights(scale):
    model = small((((2, 64, 3), (1, 128, 2)),), dropout=(0, 0), init_scale=scale)
    for kernel in list(kernels(model).values())[1:3]:
        variance = kernel.astype(np.float64).var() * np.prod(kernel.shape[:-1]) / scale
        assert abs(variance - 1) < 4 * np.sqrt(2 / kernel.size)
    assert not any(np.asarray(w).any() for w in model.weights if w.name == "bias")
    other = kernels(small(seed=6))
    assert all((kernel != other[n]).all() for n, kernel in kernels(small()).items())


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_orthogonal_initial_weights(scale):
    """Equal singular values, and the norm of normal kernels; more inputs or outputs."""
    changes = {"init_scale": scale, "initial_kernels": "orthogonal"}
    model = small((((2, 8, 3), (1, 128, 1)),), dropout=(0, 0), **changes)
    for kernel in kernels(model).values():
        matrix = kernel.reshape(-1, kernel.shape[-1]).astype(np.float64)
        found = np.linalg.svd(matrix, compute_uv=False)
        expected = np.sqrt(scale * matrix.shape[1] / min(matrix.shape))
        np.testing.assert_allclose(found, expected, 1e-5)
    other = kernels(small(seed=6, **changes))
    assert all((k != other[n]).any() for n, k in kernels(small(**changes)).items())


def test_kernel_decay():
    model = randomize(small(kernel_decay=0.5, batch_norm=True))
    weights = model.trainable_variables
    with tf.GradientTape() as tape:
        penalty = sum(model.losses)
    gradients = tape.gradient(penalty, [w.value for w in weights])
    decayed = {w.path for w, g in zip(weights, gradients, strict=True) if g is not None}
    assert decayed == {f"{name}/kernel" for name in kernels(model)}
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            np.testing.assert_allclose(gradient, 0.5 * np.asarray(weight), rtol=1e-6)
    assert small().losses == []


# Precision.


def test_conv_dtype():
    arguments = {"width": 4, "batch_norm": True, "input_shape": (16, 16, 2)}
    model = randomize(small(conv_dtype="bfloat16", **arguments))
    halves = {x.name for x in model.layers if x.compute_dtype == "bfloat16"}
    assert halves == {*kernels(model), "stack2_conv2_pad"} - {"classifier"}
    assert {w.dtype for w in model.weights} == {"float32"}
    images = noise((16, 16, 2))
    plain = np.asarray(randomize(small(**arguments))(images))
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
    assert mixed.get_layer("stack1_conv1").compute_dtype == "bfloat16"
    found = mixed(noise((13, 9, 2)))
    assert found.dtype == "float32"
    after = mixed.layers[mixed.layers.index(mixed.get_layer("classifier")) :]
    assert {layer.compute_dtype for layer in after} == {"float32"}


# Dropout.


def rates(model):
    return {x.name: x.rate for x in model.layers if isinstance(x, Dropout)}


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ("last", {"stack1_drop": 0.25, "stack2_drop": 0.5, "stack3_drop": 0.0}),
        (
            "all",
            {
                "stack1_conv1_drop": 0.25,
                "stack1_drop": 0.25,
                "stack2_conv1_drop": 0.5,
                "stack2_drop": 0.5,
                "stack3_drop": 0.0,
            },
        ),
    ],
)
def test_dropout(placement, expected):
    model = small(dropout_placement=placement, input_shape=(64, 64, 2))
    assert rates(model) == expected
    outputs = {name: model.get_layer(name).output for name in expected}
    dropped = keras.Model(model.input, outputs)(noise((64, 64, 2)), training=True)
    for name, rate in expected.items():
        zeros = np.asarray(dropped[name]) == 0
        assert abs(zeros.mean() - rate) < 0.05, name


@pytest.mark.parametrize(
    ("placement", "inner", "expected"),
    [
        ("last", [], [0.1, 0.2, 0.3]),
        ("last", [0.0, 0.0], [0.1, 0.2, 0.3]),
        ("all", [0.1, 0.2], [0.1, 0.2, 0.3]),
    ],
)
def test_set_dropout(placement, inner, expected):
    model = small(dropout_placement="all" if inner else "last")
    set_dropout(model, (0.1, 0.2, 0.3), placement)
    found = rates(model)
    names = ["stack1_conv1_drop", "stack2_conv1_drop"]
    assert [found.pop(name) for name in names if name in found] == inner
    assert list(found.values()) == expected


@pytest.mark.parametrize(
    ("value", "received"),
    [
        ((0.0, 0.1), r"2: \(0.0, 0.1\)"),
        ((0, 0, 0, 0), "4: "),
        ((0, 0, 1), r"3: \(0, 0, 1\)"),
        ((0, -0.1, 0), "3: "),
        ((0, float("nan"), 0), "3: "),
        ((0, True, 0), "3: "),
        ((0, "0.5", 0), "3: "),
        ("000", "3: "),
        (0.5, "0.5."),
        (None, "None."),
    ],
)
def test_refused_dropout(value, received):
    message = rf"one rate in \[0, 1\) for each of the 3 stacks.* Received:? {received}"
    with pytest.raises(errors.UsageError, match=message):
        small(dropout=value)
    with pytest.raises(errors.UsageError, match=message):
        check_dropout(value, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"padding": "valid"}, "Unknown padding 'valid'.*Known: caffe, same"),
        ({"dropout_placement": "lats"}, "placement 'lats'. Did you mean 'last'"),
        ({"conv_dtype": "float16"}, "Unknown conv_dtype.*Known: float32, bfloat16"),
        ({"kernel_decay": -1}, "kernel_decay is finite and >= 0. Received: -1"),
        ({"kernel_decay": float("inf")}, "kernel_decay .* Received: inf"),
        ({"init_scale": 0}, "init_scale is finite and > 0. Received: 0"),
        ({"initial_kernels": "x"}, "Unknown initial_kernels.*normal, orthogonal"),
        ({"batch_norm": 1}, "batch_norm is True or False. Received: 1"),
        ({"num_classes": 0}, "num_classes is an integer >= 1. Received: 0"),
        ({"input_shape": (3, 32, 32)}, r"channels first.*\(32, 32, 3\)"),
        ({"width": 0}, "finite number > 0. Received: 0"),
        ({"seed": -1}, "seed is an integer >= 0. Received: -1"),
        ({"activation": "eluu"}, "Unknown activation 'eluu'. Did you mean 'elu'"),
        ({"preprocessing": {"kind": "zca"}}, "Unknown preprocessing 'zca'"),
    ],
)
def test_refused_arguments(changes, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_cifar_11(**changes)
