"""The optimizer Muon: updates compared with NumPy in float64, and Keras' fit."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.initializers import FanInNormal
from elu_zoo.training.step.devices import create_strategy
from elu_zoo.training.step.muon import Muon

# Coefficients of the Newton-Schulz iteration.
A, B, C = 3.4445, -4.7750, 2.0315


class Reference:
    """A variable that is updated by SGD or by Muon, in float64."""

    def __init__(self, value, momentum=0.9, steps=3, factor=5.0, decay=0.0):
        self.value, self.m = np.float64(value), np.zeros(np.shape(value))
        self.momentum, self.steps = momentum, steps
        self.factor, self.decay = factor, decay

    def direction(self, gradient):
        self.m = self.momentum * self.m + gradient
        return gradient + self.momentum * self.m

    def sgd(self, gradient, rate):
        u = self.direction(gradient + self.decay * self.value)
        self.value = self.value - rate * self.factor * u

    def muon(self, gradient, rate):
        u = self.direction(gradient).reshape(-1, gradient.shape[-1])
        w = self.value.reshape(u.shape)
        x = u / np.linalg.norm(u)
        for _ in range(self.steps):
            x = A * x + B * (x @ x.T) @ x + C * (x @ x.T) @ (x @ x.T) @ x
        moved = w - rate * np.linalg.norm(w) * x / np.sqrt(min(w.shape))
        moved *= np.linalg.norm(w) / np.linalg.norm(moved)
        self.value = moved.reshape(self.value.shape)


def build_network():
    keras.utils.set_random_seed(0)
    image = keras.Input((6, 6, 3))
    x = keras.layers.Conv2D(5, 3, name="wide")(image)
    x = keras.layers.Conv2D(40, 2, name="tall", activation="elu")(x)
    x = keras.layers.Dense(7, name="dense")(keras.layers.Flatten()(x))
    x = keras.layers.PReLU(name="slopes")(x)
    return keras.Model(image, keras.layers.Dense(4, name="classifier")(x))


def is_sgd(variable):
    """Returns whether SGD updates a variable. It updates vectors and the classifier."""
    return variable.name in ("bias", "alpha") or "classifier" in variable.path


def draw_gradients(model, steps):
    draws = np.random.default_rng(1)
    return [
        [draws.normal(size=v.shape).astype("float32") for v in model.trainable_weights]
        for _ in range(steps)
    ]


# Bounds are relative to the norm of a variable. The four steps change a variable by a
# fifth of its norm. bfloat16 has 8 significant bits.
@pytest.mark.parametrize(
    ("dtype", "bound", "entries"),
    [
        ("float32", 1e-6, {}),
        pytest.param("float32", 1e-6, {"momentum": 0.5, "decay": 0.1}, marks=pytest.mark.slow),
        ("bfloat16", 1e-2, {}),
    ],
    ids=str,
)
def test_updates_equal_float64(dtype, bound, entries):
    model = build_network()
    arguments = {"sgd_decay" if k == "decay" else k: v for k, v in entries.items()}
    optimizer = Muon(0.1, compute_dtype=dtype, **arguments)
    optimizer.build(model.trainable_variables)
    references = []
    for v in model.trainable_weights:
        # Only the kernel of the classifier decays.
        no_decay = {} if v.path.endswith("classifier/kernel") else {"decay": 0.0}
        references.append(Reference(np.asarray(v), **{**entries, **no_decay}))
    for i, gradients in enumerate(draw_gradients(model, 4)):
        optimizer.learning_rate.assign(0.1 / (i + 1))
        optimizer.apply([tf.constant(g) for g in gradients])
        for variable, reference, g in zip(
            model.trainable_weights, references, gradients, strict=True
        ):
            step = reference.sgd if is_sgd(variable) else reference.muon
            step(np.float64(g), 0.1 / (i + 1))
    for variable, reference in zip(model.trainable_weights, references, strict=True):
        error = np.linalg.norm(np.asarray(variable) - reference.value)
        error /= np.linalg.norm(reference.value)
        assert error <= (1e-6 if is_sgd(variable) else bound), variable.path


def test_zeros_as_gradients_or_kernel_keep_a_kernel():
    model = build_network()
    before = [np.asarray(v) for v in model.trainable_weights]
    zeros = [tf.zeros(v.shape) for v in model.trainable_weights]
    Muon(0.1).apply(zeros, model.trainable_variables)
    for old, variable in zip(before, model.trainable_weights, strict=True):
        np.testing.assert_array_equal(old, np.asarray(variable))
    model.get_layer("dense").kernel.assign(np.zeros((360, 7)))
    (gradients,) = draw_gradients(model, 1)
    Muon(0.1).apply([tf.constant(g) for g in gradients], model.trainable_variables)
    assert not np.asarray(model.get_layer("dense").kernel).any()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"weight_decay": 0.01}, "weight_decay"),
        ({"sgd_factor": 0.0}, "sgd_factor"),
        ({"sgd_decay": -1.0}, "sgd_decay"),
    ],
)
def test_wrong_arguments_are_refused(arguments, word):
    with pytest.raises(errors.UsageError, match=word):
        Muon(**arguments)


@pytest.mark.slow
def test_keras_fit_trains_with_xla_and_a_loaded_model_continues_equally(tmp_path):
    images = np.random.default_rng(0).normal(size=(64, 6, 6, 3)).astype("float32")
    data = images, (images[:, 0, 0, 0] > 0).astype("int32")
    layers = [
        keras.Input((6, 6, 3)),
        keras.layers.Flatten(),
        keras.layers.Dense(8, "elu", kernel_initializer=FanInNormal(1.0, 1)),
        keras.layers.Dense(4, name="classifier", kernel_initializer=FanInNormal(1.0, 2)),
    ]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    muon = Muon(0.05, compute_dtype="float32", sgd_factor=1.0)
    model.compile(muon, loss, jit_compile=True)
    losses = model.fit(*data, 16, epochs=4, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.optimizer, Muon)
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    for network in (model, loaded):
        network.fit(*data, shuffle=False, verbose=0)
    for a, b in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, 1e-6, 1e-6)


def test_two_replicas_make_the_same_update_as_one():
    strategy = create_strategy("mirrored", 2)
    with strategy.scope():
        mirrored = build_network()
        optimizer = Muon(0.1, compute_dtype="float32")
        optimizer.build(mirrored.trainable_variables)
    (gradients,) = draw_gradients(mirrored, 1)

    def on_replica():
        halves = [tf.constant(g) / 2 for g in gradients]
        optimizer.apply(halves, mirrored.trainable_variables)

    tf.function(strategy.run)(on_replica)
    single = build_network()
    single_muon = Muon(0.1, compute_dtype="float32")
    single_muon.apply([tf.constant(g) for g in gradients], single.trainable_variables)
    for a, b in zip(single.get_weights(), mirrored.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)
