"""Arguments of `get_model` that are refused, logged, or unusual but accepted.

Unit tests of the checks are in tests/test_registry.py, tests/activations and
tests/layers.
"""

import math

import keras
import numpy as np
import published_weights
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import errors, registry
from elu_zoo.models import loading
from elu_zoo.weights import hdf5, pretrained

MLP, CNN = "mnist_mlp_8x128", "elu_cifar_11"


IMAGENET = {"model": "elu_imagenet_15", "preprocessing": False}
NO_SIZE = {"input_shape": (None, None, 3)}
SCALED = {"kind": "rescale", "scale": "a"}


@keras.saving.register_keras_serializable("bad_inputs")
def halves(x):
    return x[..., ::2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"activation": "eluu"}, "'eluu'. Did you mean 'elu'.*Known"),
        ({"activation": keras.layers.Flatten, "model": CNN}, "keep the shape"),
        ({"activation": keras.layers.MaxPooling2D, "model": CNN}, "keep the shape"),
        ({"activation": halves, "model": CNN}, "keep the shape"),
        ({"model": "elu_cifar_18", "padding": "valid"}, "32 x 32 .*too small"),
        ({"model": "nin", "input_shape": (32, 32, None), "preprocessing": False}, "channels"),
        ({"width": 10**400}, "finite"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        *(
            ({"activation": {"name": "elu", "alpha": value}}, "finite")
            for value in (-0.5, 1e39, 1e-46, 10**400, True)  # 1e39 is infinite in float32
        ),
        ({"num_classes": "10"}, "num_classes"),
        ({"num_classes": 0}, ">= 1"),
        ({"classifier_activation": "sotfmax"}, "mean 'softmax'"),
        ({"num_classes": "26", "weights": "mnist", "width": 1.0}, "num_classes"),
        (NO_SIZE, "input_shape"),
        ({**NO_SIZE, "model": CNN, "preprocessing": "cifar10"}, "preprocessing=False"),
        ({"input_shape": (97, 97, 1), "model": "elu_imagenet_15"}, "preprocessing=False"),
        ({**IMAGENET, "input_shape": (96, 224, 3)}, "97 x 97"),
        ({**IMAGENET, "input_shape": (32, 32, 3), "spp_levels": (1, 2)}, "33 x 33"),
        ({"features": 3}, "list of such names"),
        ({"features": []}, "list of such names"),
        ({"include_top": "no"}, "include_top"),
        ({"include_top": None}, "include_top"),
        ({"pooling": "avg"}, "include_top=False"),
        ({"pooling": "mx", "include_top": False}, "Did you mean 'max'"),
        ({"pooling": "avg", "include_top": False}, "Remove pooling"),
        ({"model_name": 3}, "model_name"),
        ({"model_name": "a/b"}, "model_name"),
        ({"allow_unverified": "False"}, "allow_unverified"),
        ({"preprocessing": 3}, "preprocessing"),
        ({"preprocessing": None}, "preprocessing"),
        ({"preprocessing": SCALED}, "finite and not 0"),
        ({"classifier_activation": 3}, "Known: softmax"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    arguments = {"width": 0.02, **arguments}
    with pytest.raises(errors.UsageError, match=words):
        elu_zoo.get_model(arguments.pop("model", MLP), **arguments)


@pytest.mark.parametrize("arguments", [{"width": 1e9}, {"num_classes": 10**12}])
def test_networks_larger_than_the_memory_are_refused(arguments):
    with pytest.raises(errors.ResourceError, match="smaller width"):
        elu_zoo.get_model(MLP, **arguments)


def test_numpy_scalars_are_accepted():
    model = elu_zoo.get_model(MLP, num_classes=np.int8(3), width=np.float32(0.02))
    assert model.output_shape == (None, 3)
    assert elu_zoo.ELU(np.float32(0.5)).alpha == 0.5


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


@pytest.mark.parametrize(("where", "error"), [("_datasets", MemoryError), ("", RuntimeError)])
def test_full_memory_is_not_a_damaged_file(tmp_path, monkeypatch, where, error):
    path = published_weights.write(tmp_path, *published_weights.make()[:2])

    def full(*_):
        raise error("RESOURCE_EXHAUSTED")

    if where:
        monkeypatch.setattr(hdf5, where, full)
    weights = pretrained.find(MLP, path)
    arguments = {**weights.arguments, "seed": 0}
    with pytest.raises(error, match="RESOURCE_EXHAUSTED"):
        loading.build_unpublished(registry.entry(MLP), arguments, weights, full)
