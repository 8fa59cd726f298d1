"""Logits of mnist_mlp_8x128 equal NumPy's; the model works like any Keras model."""

import copy
import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo.activations import ELU

MODEL = "mnist_mlp_8x128"
# Keys: names of files to save. Values: the argument `activation`.
ACTIVATIONS = {
    "elu": "elu",
    "leaky_relu": "leaky_relu",
    "shifted_relu": "shifted_relu",
    "prelu": "prelu",
    "rrelu": "rrelu",
    "alpha": {"name": "elu", "alpha": 0.5},
}


def get(**arguments):
    return elu_zoo.get_model(MODEL, **{"preprocessing": False, "width": 0.25, **arguments})


def images(n=8, dtype="uint8"):
    return np.random.default_rng(0).integers(0, 256, (n, 28, 28, 1)).astype(dtype)


def numpy_forward(model, x, alpha):
    x = x.astype(np.float64).reshape(len(x), -1)
    names = [f"dense{i}" for i in range(1, 9)]
    for name in names:
        kernel, bias = (np.asarray(w, np.float64) for w in model.get_layer(name).weights)
        x = x @ kernel + bias
        x = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
    kernel, bias = (np.asarray(w, np.float64) for w in model.get_layer("classifier").weights)
    return x @ kernel + bias


@pytest.mark.parametrize(("preprocessing", "alpha"), [(False, 1.0), (True, 0.5)])
def test_logits_equal_those_of_the_numpy_forward_pass(preprocessing, alpha):
    model = get(activation={"name": "elu", "alpha": alpha}, preprocessing=preprocessing, seed=4)
    rng = np.random.default_rng(1)
    for layer in model.layers:
        if layer.weights:  # with zero biases, a missing bias would not be detected
            layer.bias.assign(rng.normal(0, 0.3, layer.bias.shape))
    raw = images()
    expected = numpy_forward(model, raw / 255, alpha)
    inputs = raw if preprocessing else (raw / 255).astype(np.float32)
    np.testing.assert_allclose(np.asarray(model(inputs)), expected, atol=2e-5)
    logits_of_another_alpha = numpy_forward(model, raw / 255, 1.5 - alpha)
    assert np.abs(expected - logits_of_another_alpha).max() > 1e-2


def test_hidden_layers_do_not_share_activation_layers():
    model = get(activation=ELU)
    layers = [layer for layer in model.layers if layer.name.startswith("act_")]
    assert len({id(layer) for layer in layers}) == 8


def test_fit_reduces_the_loss():
    x, y = images(64), np.arange(64) % 4
    model = get(batch_norm=True, preprocessing=True, num_classes=4)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.005), loss, jit_compile=False)
    # The order in which Keras shuffles differs from process to process.
    fitted = model.fit(x, y, batch_size=16, epochs=8, shuffle=False, verbose=0)
    history = fitted.history["loss"]
    assert np.isfinite(history).all() and history[-1] < history[0] - 0.1
    assert model.predict(x[:3], verbose=0).shape == (3, 4)


def test_fit_under_a_mirrored_strategy_of_the_user():
    devices = tf.config.list_logical_devices("CPU")
    assert len(devices) >= 2, "the tests start TensorFlow with two logical CPU devices"
    strategy = tf.distribute.MirroredStrategy(
        [d.name for d in devices[:2]], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        model = get(preprocessing=True, num_classes=4, batch_norm=True)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.05), loss, jit_compile=False)
    before = np.asarray(model.get_layer("dense1").kernel)
    history = model.fit(images(32), np.arange(32) % 4, batch_size=16, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert strategy.num_replicas_in_sync == 2
    assert (np.asarray(model.get_layer("dense1").kernel) != before).any()


COPIES = {
    "deepcopy": copy.deepcopy,
    "clone_model": keras.models.clone_model,
}


@pytest.mark.parametrize("copy_function", COPIES)
def test_copies_have_equal_outputs_and_separate_weights(copy_function):
    model = get(activation="rrelu", batch_norm=True, preprocessing=True)
    copied = COPIES[copy_function](model)
    if copy_function == "deepcopy":
        kernel = copied.get_layer("dense1").kernel
        assert kernel is not model.get_layer("dense1").kernel
    else:
        copied.set_weights([w + 0.01 for w in model.get_weights()])
        model.set_weights([w + 0.01 for w in model.get_weights()])
    x = images(4)
    np.testing.assert_array_equal(np.asarray(copied(x)), np.asarray(model(x)))
    assert [a.get_config() for a in copied.layers] == [a.get_config() for a in model.layers]


LOAD = """
import json, pathlib, sys
import elu_zoo
import keras, numpy as np
folder = pathlib.Path(sys.argv[1])
x = np.load(folder / "x.npy")
print(json.dumps({p.stem: np.asarray(keras.models.load_model(p)(x)).tolist()
                  for p in folder.glob("*.keras")}))
"""


@pytest.mark.slow
def test_saved_models_can_be_loaded_in_another_process(tmp_path):
    x = images(3)
    np.save(tmp_path / "x.npy", x)
    expected = {}
    for name, activation in ACTIVATIONS.items():
        for batch_norm in (False, True):
            key = name + "_bn" * batch_norm
            model = get(activation=activation, batch_norm=batch_norm, preprocessing=True)
            model.set_weights([w + 0.02 for w in model.get_weights()])
            model.save(tmp_path / f"{key}.keras")
            expected[key] = np.asarray(model(x))
    result = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True, text=True, check=True
    )
    loaded = json.loads(result.stdout.strip().splitlines()[-1])
    assert set(loaded) == set(expected)
    for key, logits in expected.items():
        np.testing.assert_allclose(loaded[key], logits, rtol=1e-6, err_msg=key)
