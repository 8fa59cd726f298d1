"""Models of `conv_stacks` are compared with NumPy, for all arguments."""

import math

import keras
import numpy as np
import pytest
from reference_stacks import noise, pool, randomize

import elu_zoo
from elu_zoo import errors
from elu_zoo.layers import Dropout
from elu_zoo.models.stacks import conv_stacks, set_dropout

# network: the number of convolutions of each stack except the classifier's.
COUNTS = {
    "elu_cifar_11": [1, 2, 2, 2, 2, 1],
    "elu_cifar_18": [1, 4, 4, 3, 3, 2, 1],
}
SMALL = {
    "name": "small", "activation": "elu", "batch_norm": False, "num_classes": 3,
    "input_shape": (13, 9, 2), "width": 1.0, "seed": 5, "preprocessing": None,
    "padding": "caffe", "dropout": (0.25, 0.5, 0.0), "dropout_placement": "last",
    "kernel_decay": 0.0, "init_scale": 1.0,
}  # fmt: skip
STACKS = (((2, 4, 3),), ((1, 5, 1), (1, 6, 2)))


def small(stacks=STACKS, **changes):
    return conv_stacks(stacks=stacks, **{**SMALL, **changes})


def kernels(model):
    return {
        x.name: np.asarray(x.kernel) for x in model.layers if isinstance(x, keras.layers.Conv2D)
    }


def convolve(x, layer, padding):
    kernel, bias = (np.asarray(w, np.float64) for w in layer.weights)
    field = len(kernel)
    before = after = field // 2  # zeros on each side; 1 for a 2 x 2 field
    if field % 2 == 0:
        before -= padding != "caffe"
        after -= padding == "valid"
    x = np.pad(x, ((0, 0), (before, after), (before, after), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (field, field), (1, 2))
    return np.einsum("bhwcij,ijcd->bhwd", windows, kernel) + bias


def forward(model, counts, x, padding):
    """Returns the logits; `counts` has the number of convolutions of each stack."""
    x = np.asarray(x, np.float64)
    for i, count in enumerate(counts, 1):
        for j in range(1, count + 1):
            x = convolve(x, model.get_layer(f"stack{i}_conv{j}"), padding)
            x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        x = pool(x)
    x = pool(convolve(x, model.get_layer("classifier"), padding))
    return x.mean((1, 2))


@pytest.mark.parametrize(
    ("name", "width", "shape", "padding"),
    [
        ("elu_cifar_11", 0.05, (32, 32, 3), "caffe"),
        ("elu_cifar_11", 0.05, (32, 32, 3), "same"),
        ("elu_cifar_11", 0.05, (32, 32, 3), "valid"),
        ("elu_cifar_11", 0.02, (21, 50, 3), "caffe"),
        ("elu_cifar_11", 0.02, (21, 50, 3), "same"),
        ("elu_cifar_18", 0.03, (32, 32, 3), "caffe"),
        ("elu_cifar_18", 0.03, (32, 32, 3), "same"),
    ],
)
def test_logits_of_the_registered_networks_equal_numpy(name, width, shape, padding):
    model = elu_zoo.get_model(
        name, width=width, input_shape=shape, padding=padding, preprocessing=False
    )
    images = noise(shape)
    expected = forward(randomize(model), COUNTS[name], images, padding)
    assert expected.std() > 0.01
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=limit)


@pytest.mark.parametrize("padding", ["caffe", "same"])
@pytest.mark.parametrize("shape", [(13, 9, 2), (3, 2, 1), (1, 1, 1)])
def test_logits_of_two_stacks_equal_numpy(shape, padding):
    model = randomize(small(input_shape=shape, padding=padding))
    images = noise(shape)
    expected = forward(model, [2, 2], images, padding)
    np.testing.assert_allclose(np.asarray(model(images)), expected, atol=1e-5)


def test_logits_are_means_over_a_last_map_larger_than_1_x_1():
    model = randomize(small(input_shape=(32, 24, 2)))
    last_map = keras.Model(model.input, model.get_layer("stack3_drop").output)
    images = noise((32, 24, 2))
    maps = np.asarray(last_map(images), np.float64)
    assert maps.shape == (4, 5, 4, 3)
    np.testing.assert_allclose(np.asarray(model(images)), maps.mean((1, 2)), 1e-5)


@pytest.mark.parametrize(
    ("width", "units"), [(2, [8, 8, 10, 12, 3]), (0.3, [1, 1, 2, 2, 3]), (0.01, [1, 1, 1, 1, 3])]
)
def test_width_multiplies_the_units(width, units):
    shapes = [kernel.shape for kernel in kernels(small(width=width)).values()]
    assert [shape[-1] for shape in shapes] == units


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
        (
            "before_pooling",
            {"stack1_drop": 0.25, "stack2_drop": 0.5, "stack3_drop": 0.0},
        ),
    ],
)
def test_dropout_layers_and_rates_of_each_placement(placement, expected):
    assert rates(small(dropout_placement=placement)) == expected


@pytest.mark.parametrize(
    ("placement", "inner", "expected"),
    [
        ("last", [], [0.1, 0.2, 0.3]),
        ("last", [0.0, 0.0], [0.1, 0.2, 0.3]),
        ("all", [0.1, 0.2], [0.1, 0.2, 0.3]),
    ],
)
def test_set_dropout_changes_the_rates(placement, inner, expected):
    model = small(dropout_placement="all" if inner else "last")
    set_dropout(model, (0.1, 0.2, 0.3), placement)
    new_rates = rates(model)
    names = ["stack1_conv1_drop", "stack2_conv1_drop"]
    assert [new_rates.pop(name) for name in names if name in new_rates] == inner
    assert list(new_rates.values()) == expected


@pytest.mark.parametrize("value", [(0.0, 0.1), (0, 0, 1), (0, "0.5", 0), 0.5])
def test_wrong_dropout_rates_raise_a_usage_error(value):
    with pytest.raises(errors.UsageError) as caught:
        small(dropout=value)
    assert "dropout must have 3 rates in [0, 1), one for each" in str(caught.value)
    assert f"Received: {value!r}." in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"padding": "vald"}, "Unknown padding 'vald'. Did you mean 'valid'"),
        ({"dropout_placement": "lats"}, "placement 'lats'. Did you mean 'last'"),
    ],
)
def test_wrong_arguments_raise_a_usage_error(changes, message):
    with pytest.raises(errors.UsageError, match=message):
        small(**changes)


def initial_loss(name, activation, count, **arguments):
    """Returns the initial cross-entropy on normal noise of variance 1."""
    draws = np.random.default_rng(0)
    images = draws.standard_normal((count, 32, 32, 3)).astype(np.float32)
    labels = draws.integers(0, 100, count)
    model = elu_zoo.get_model(name, activation=activation, **arguments, preprocessing=False)
    logits = np.asarray(model(images), np.float64)
    logits -= logits.max(1, keepdims=True)
    label_logits = logits[np.arange(count), labels]
    return np.mean(np.log(np.exp(logits).sum(1)) - label_logits)


@pytest.mark.parametrize("activation", ["elu", "relu"])
def test_the_initial_loss_is_about_the_log_of_the_number_of_classes(activation):
    loss = initial_loss("elu_cifar_11", activation, 8, init_scale=1.0)
    assert loss == pytest.approx(math.log(100), abs=0.5)
    assert initial_loss("elu_cifar_11", activation, 8) > 8  # He's initial kernels
