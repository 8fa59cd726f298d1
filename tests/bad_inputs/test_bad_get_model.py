"""Invalid arguments of `get_model`, and their error messages."""

import logging
import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors
from elu_zoo.activations import form

MLP, CNN = "mnist_mlp_8x128", "elu_cifar_11"
NAMES = [
    ("close_to_one", "elu-cifar-18", r"'elu-cifar-18'\. Did you mean 'elu_cifar_18'\?"),
    (
        "far_from_all",
        "elunet18",
        "Unknown model 'elunet18'.*Known: alexnet_cifar, ",
    ),
    ("none", None, "name is a string. Received: None of type NoneType"),
    ("number", 7, "Received: 7 of type int"),
]


@pytest.mark.parametrize(
    ("name", "message"), [pytest.param(*row[1:], id=row[0]) for row in NAMES]
)
def test_name(name, message):
    kind = errors.UsageError if isinstance(name, str) else errors.UsageTypeError
    with pytest.raises(kind, match=message):
        elu_zoo.get_model(name)


def _alpha(value):
    return {"activation": {"name": "elu", "alpha": value}}


ALPHA = "alpha must be a finite number > 0. Received: alpha="
SMALL_IMAGES = {"model": "elu_imagenet_15", "preprocessing": False}
SHAPE = r"input_shape is \(height, width, channels\)"
ARGUMENTS = [
    ("unknown_activation", {"activation": "eluu"}, "'eluu'. Did you mean 'elu'.*Known"),
    ("activation_across_units", {"activation": "softmax"}, "not act on each element"),
    ("activation_of_another_type", {"activation": 3}, "of type int. Pass a name"),
    ("activation_class_of_no_layer", {"activation": dict}, "dict.* is not registered"),
    (
        "activation_that_cannot_be_saved",
        {"activation": lambda x: x},
        "is not registered, so that a model with it could not be saved or exported",
    ),
    (
        "activation_that_flattens",
        {"activation": keras.layers.Flatten, "model": CNN},
        r"act_stack1_conv1, of Flatten, makes \(None, 4096\) of \(None, 32, 32, 4\)",
    ),
    (
        "activation_that_pools",
        {"activation": keras.layers.MaxPooling2D, "model": CNN},
        r"keeps the shape .* \(None, 16, 16, 4\) of \(None, 32, 32, 4\)",
    ),
    ("alpha_zero", _alpha(0), f"{ALPHA}0"),
    ("alpha_negative", _alpha(-0.5), f"{ALPHA}-0.5"),
    ("alpha_infinite_in_float32", _alpha(1e39), rf"{ALPHA}1e\+39"),
    ("alpha_zero_in_float32", _alpha(1e-46), f"{ALPHA}1e-46"),
    ("alpha_beyond_floats", _alpha(10**400), f"{ALPHA}1000"),
    ("alpha_of_numpy_that_is_nan", _alpha(np.float32("nan")), f"{ALPHA}np.float32"),
    ("alpha_bool", _alpha(True), f"{ALPHA}True"),
    ("alpha_text", _alpha("1"), f"{ALPHA}'1'"),
    ("no_classes", {"num_classes": 0}, "num_classes is an integer >= 1. Received: 0"),
    ("classes_as_text", {"num_classes": "10"}, "integer >= 1. Received: '10'"),
    (
        "channels_first",
        {"input_shape": (3, 32, 32)},
        rf"{SHAPE}.*channels first: .* the end, \(32, 32, 3\)",
    ),
    ("shape_of_rank_2", {"input_shape": (28, 28)}, rf"{SHAPE}.*Received: \(28, 28\)"),
    ("shape_of_no_channels", {"input_shape": (28, 28, 0)}, ">= 1. Received: 0"),
    ("shape_unknown", {"input_shape": (None, None, 3)}, ">= 1. Received: None"),
    (
        "images_smaller_than_the_pools",
        {**SMALL_IMAGES, "input_shape": (96, 224, 3)},
        r"at least 97 x 97: .* Received: input_shape=\(96, 224, 3\). Take larger",
    ),
    (
        "images_smaller_than_another_pyramid",
        {**SMALL_IMAGES, "input_shape": (32, 32, 3), "spp_levels": (1, 2)},
        "at least 33 x 33",
    ),
    ("features_of_another_type", {"features": 3}, "or a list of names. Received: 3"),
    ("features_without_a_name", {"features": []}, r"list of names. Received: \[\]"),
    ("include_top_as_text", {"include_top": "no"}, "True or False. Received: 'no'"),
    ("include_top_none", {"include_top": None}, "include_top is True or False"),
    (
        "allow_unverified_as_text",
        {"allow_unverified": "False"},
        "allow_unverified is True or False. Received: 'False'",
    ),
    ("preprocessing_number", {"preprocessing": 3}, "of layers. Received: 3"),
    ("preprocessing_none", {"preprocessing": None}, "True, False, .*Received: None"),
    ("preprocessing_of_nothing", {"preprocessing": {}}, "Unknown preprocessing None"),
    (
        "preprocessing_by_a_word",
        {"preprocessing": {"kind": "rescale", "scale": "a"}},
        "'scale', a finite number that is not 0, and may .* Received: 'a' and 0.0",
    ),
    (
        "classifier_activation_function",
        {"classifier_activation": lambda x: x},
        "is a name, for instance 'softmax'",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "message"), [pytest.param(*row[1:], id=row[0]) for row in ARGUMENTS]
)
def test_arguments(arguments, message):
    arguments = {"width": 0.02, **arguments}
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(arguments.pop("model", MLP), **arguments)


@pytest.mark.parametrize("arguments", [{"width": 1e9}, {"num_classes": 10**12}])
def test_more_than_the_memory(arguments):
    with pytest.raises(errors.ResourceError, match="not fit the memory: .*smaller wid"):
        elu_zoo.get_model(MLP, **arguments)


def test_numbers_of_numpy():
    model = elu_zoo.get_model(MLP, num_classes=np.int8(3), width=np.float32(0.02))
    assert model.output_shape == (None, 3)
    assert elu_zoo.ELU(np.float32(0.5)).alpha == 0.5


@pytest.mark.parametrize("number", [0, "26"])
def test_weights_for_another_number_of_classes(number):
    message = f"num_classes is an integer >= 1. Received: {number!r}"
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(MLP, weights="mnist", num_classes=number)


@pytest.mark.parametrize(
    ("policy", "devices", "said"),
    [
        ("float16", ["cpu:0"], True),
        ("mixed_float16", ["cpu:0", "cpu:1"], True),
        ("mixed_float16", ["cpu:0", "gpu:0"], False),
        ("mixed_bfloat16", ["cpu:0"], False),
        ("float32", ["cpu:0"], False),
    ],
)
def test_warning_of_float16_without_a_gpu(monkeypatch, caplog, policy, devices, said):
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: devices)
    keras.config.set_dtype_policy(policy)
    try:
        with caplog.at_level(logging.WARNING, logger="absl"):
            model = elu_zoo.get_model(MLP, width=0.02)
    finally:
        keras.config.set_dtype_policy("float32")
    assert ("computes in float16 on a CPU" in caplog.text) == said
    assert model.get_layer("dense1").compute_dtype == policy.removeprefix("mixed_")


@pytest.mark.parametrize("call", ["elu_xla", "layer"])
def test_no_xla(monkeypatch, call):
    x = tf.constant([-1.0, 1.0])
    monkeypatch.setattr(tf.test, "is_built_with_xla", lambda: False)
    with pytest.raises(
        errors.UsageError, match="without XLA.*elu_zoo.elu.*compile=off"
    ):
        if call == "elu_xla":
            elu_zoo.elu_xla(x)
        else:
            with form("nested"):
                elu_zoo.ELU()(x)
    np.testing.assert_allclose(elu_zoo.elu(x), [math.expm1(-1), 1], rtol=1e-6)


def test_two_models_of_one_name(tmp_path):
    one, two = (elu_zoo.get_model(MLP, width=0.02, seed=s) for s in (0, 1))
    assert one.name == two.name == MLP
    x = np.ones((1, 28, 28, 1), np.float32)
    before = np.asarray(one(x))
    two.get_layer("dense1").kernel.assign_add(
        keras.ops.ones_like(two.get_layer("dense1").kernel)
    )
    np.testing.assert_array_equal(np.asarray(one(x)), before)
    for number, model in enumerate((one, two)):
        model.save(tmp_path / f"{number}.keras")
        loaded = keras.models.load_model(tmp_path / f"{number}.keras")
        np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(model(x)))
