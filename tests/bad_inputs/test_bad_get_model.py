"""Arguments of `get_model` that are refused, logged, or unusual but accepted.

Unit tests of the checks are in tests/test_registry.py, tests/activations and
tests/layers.
"""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors

MLP, CNN = "mnist_mlp_8x128", "elu_cifar_11"


def _alpha(value):
    return {"activation": {"name": "elu", "alpha": value}}


ALPHA = "alpha must be a finite number > 0. Received: alpha="
SMALL_IMAGES = {"model": "elu_imagenet_15", "preprocessing": False}
ARGUMENTS = [
    ("unknown_activation", {"activation": "eluu"}, "'eluu'. Did you mean 'elu'.*Known"),
    (
        "activation_that_flattens",
        {"activation": keras.layers.Flatten, "model": CNN},
        r"act_stack1_conv1 of type Flatten turned \(None, 32, 32, 4\) into \(None, 409",
    ),
    (
        "activation_that_pools",
        {"activation": keras.layers.MaxPooling2D, "model": CNN},
        r"must keep the shape .* \(None, 32, 32, 4\) into \(None, 16, 16, 4\)",
    ),
    ("alpha_negative", _alpha(-0.5), f"{ALPHA}-0.5"),
    ("alpha_infinite_in_float32", _alpha(1e39), rf"{ALPHA}1e\+39"),
    ("alpha_zero_in_float32", _alpha(1e-46), f"{ALPHA}1e-46"),
    ("alpha_larger_than_floats", _alpha(10**400), f"{ALPHA}1000"),
    ("alpha_bool", _alpha(True), f"{ALPHA}True"),
    ("classes_as_text", {"num_classes": "10"}, "integer >= 1. Received: '10'"),
    ("input_shape_none", {"input_shape": (None, None, 3)}, ">= 1. Received: None"),
    (
        "input_shape_none_with_statistics",
        {"input_shape": (None, None, 3), "model": CNN, "preprocessing": "cifar10"},
        r"cifar10 fit images of one size. .*\(None, None, 3\).*preprocessing=False",
    ),
    (
        "gray_images_with_means_of_colours",
        {"input_shape": (97, 97, 1), "model": "elu_imagenet_15"},
        r"3 channels. Received: .*\(97, 97, 1\).*preprocessing=False",
    ),
    (
        "images_smaller_than_the_pools",
        {**SMALL_IMAGES, "input_shape": (96, 224, 3)},
        r"at least 97 x 97 .* Received: input_shape=\(96, 224, 3\). Pass a larger",
    ),
    (
        "images_smaller_than_the_pyramid_of_spp_levels",
        {**SMALL_IMAGES, "input_shape": (32, 32, 3), "spp_levels": (1, 2)},
        "at least 33 x 33",
    ),
    ("features_of_another_type", {"features": 3}, "list of such names. Received: 3"),
    ("features_without_a_name", {"features": []}, r"of such names. Received: \[\]"),
    ("include_top_as_text", {"include_top": "no"}, "True or False. Received: 'no'"),
    ("include_top_none", {"include_top": None}, "include_top must be True or False"),
    ("pooling_with_top", {"pooling": "avg"}, "Pass include_top=False too, or remove"),
    (
        "pooling_unknown",
        {"pooling": "mx", "include_top": False},
        "Unknown pooling 'mx'. Did you mean 'max'",
    ),
    (
        "pooling_of_vectors",
        {"pooling": "avg", "include_top": False},
        r"vectors of shape \(None, 3\), not maps. .*Remove pooling",
    ),
    ("model_name_number", {"model_name": 3}, "must be a text without '/'.*: 3"),
    ("model_name_with_slash", {"model_name": "a/b"}, "Received: 'a/b'"),
    (
        "allow_unverified_as_text",
        {"allow_unverified": "False"},
        "allow_unverified must be True or False. Received: 'False'",
    ),
    ("preprocessing_number", {"preprocessing": 3}, "of layers. Received: 3"),
    ("preprocessing_none", {"preprocessing": None}, "True, False, .*Received: None"),
    (
        "preprocessing_with_text_as_scale",
        {"preprocessing": {"kind": "rescale", "scale": "a"}},
        "'scale' that is finite and not 0, .* Received: scale='a', offset=0.0",
    ),
    (
        "classifier_activation_function",
        {"classifier_activation": lambda x: x},
        "must be a name, such as 'softmax'",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "message"), [pytest.param(*row[1:], id=row[0]) for row in ARGUMENTS]
)
def test_wrong_arguments_are_refused(arguments, message):
    arguments = {"width": 0.02, **arguments}
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(arguments.pop("model", MLP), **arguments)


@pytest.mark.parametrize("arguments", [{"width": 1e9}, {"num_classes": 10**12}])
def test_networks_larger_than_the_memory_are_refused(arguments):
    with pytest.raises(errors.ResourceError, match="fit into memory: .*smaller width"):
        elu_zoo.get_model(MLP, **arguments)


def test_the_cost_of_images_of_unknown_size_is_refused():
    with pytest.raises(errors.UsageError, match="depends on the size.*Pass integers"):
        elu_zoo.model_info(CNN, input_shape=(None, None, 3), width=0.02)


def test_numpy_scalars_are_accepted():
    model = elu_zoo.get_model(MLP, num_classes=np.int8(3), width=np.float32(0.02))
    assert model.output_shape == (None, 3)
    assert elu_zoo.ELU(np.float32(0.5)).alpha == 0.5


@pytest.mark.parametrize("number", [0, "26"])
def test_a_wrong_number_of_classes_is_refused_with_weights(number):
    message = f"num_classes must be an integer >= 1. Received: {number!r}"
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(MLP, weights="mnist", num_classes=number)


@pytest.mark.parametrize("call", ["elu_xla", "layer"])
def test_elu_xla_is_refused_by_a_tensorflow_without_xla(monkeypatch, call):
    x = tf.constant([-1.0, 1.0])
    monkeypatch.setattr(tf.test, "is_built_with_xla", lambda: False)
    with pytest.raises(errors.UsageError, match="without XLA.*elu_zoo.elu.*compile=off"):
        if call == "elu_xla":
            elu_zoo.elu_xla(x)
        else:
            elu_zoo.ELU(jit_compile=True)(x)
    np.testing.assert_allclose(elu_zoo.elu(x), [math.expm1(-1), 1], rtol=1e-6)


def test_two_models_with_the_same_name_are_independent(tmp_path):
    first, second = (elu_zoo.get_model(MLP, width=0.02, seed=s) for s in (0, 1))
    assert first.name == second.name == MLP
    x = np.ones((1, 28, 28, 1), np.float32)
    before = np.asarray(first(x))
    second.get_layer("dense1").kernel.assign_add(
        keras.ops.ones_like(second.get_layer("dense1").kernel)
    )
    np.testing.assert_array_equal(np.asarray(first(x)), before)
    for number, model in enumerate((first, second)):
        model.save(tmp_path / f"{number}.keras")
        loaded = keras.models.load_model(tmp_path / f"{number}.keras")
        np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(model(x)))
