"""SGD with learning rate factors and a momentum rise, compared with NumPy."""

import keras
import numpy as np
import pytest
from sections import complete

from elu_zoo import errors
from elu_zoo.training.step.optimizer import check_sgd_fields, create

STEPS = 6


def build_network():
    image = keras.Input((3,), name="image")
    x = keras.layers.Dense(2, name="first")(image)
    return keras.Model(image, keras.layers.Dense(2, name="classifier")(x))


def config(**entries):
    return complete(model={"name": "mnist_mlp_8x128"}, train={"momentum": 0.9} | entries)


def reference(weight, gradients, rates, momenta, nesterov):
    """Returns the weight after SGD in float64."""
    weight, average = np.float64(weight), 0.0
    for gradient, rate, momentum in zip(gradients, rates, momenta, strict=True):
        average = momentum * average - rate * gradient
        update = momentum * average - rate * gradient if nesterov else average
        weight = weight + update
    return weight


def run(optimizer, variables, gradients):
    for i, of_step in enumerate(gradients):
        optimizer.learning_rate.assign(0.1 / (i + 1))
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in of_step], variables)


FACTORS = (("classifier/bias", 0.5), ("bias", 2.0), ("first/kernel", 0.1))


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize(
    ("entries", "factors", "momenta"),
    [
        ({}, (1, 1, 1, 1), [0.9] * STEPS),
        ({"learning_rate_factors": FACTORS}, (0.1, 2, 1, 0.5), [0.9] * STEPS),
        ({"momentum_rise": (0.5, 4)}, (1, 1, 1, 1), [0.5, 0.6, 0.7, 0.8, 0.9, 0.9]),
        ({"momentum_rise": (0.5, 2 / 3)}, (1, 1, 1, 1), [0.5, 0.6, 0.7, 0.8, 0.9, 0.9]),
        (
            {"momentum_rise": (0.0, 3), "learning_rate_factors": (("kernel", 3),)},
            (3, 1, 3, 1),
            [0.0, 0.3, 0.6, 0.9, 0.9, 0.9],
        ),
    ],
)
def test_updates_equal_float64(entries, factors, momenta, nesterov):
    model = build_network()
    optimizer = create(config(nesterov=nesterov, **entries), model, STEPS)
    variables = model.trainable_variables
    draws = np.random.default_rng(0)
    gradients = [
        [draws.normal(size=v.shape).astype(np.float32) for v in variables] for _ in range(STEPS)
    ]
    before = [np.asarray(v) for v in variables]
    run(optimizer, variables, gradients)
    for i, variable in enumerate(variables):
        rates = [factors[i] * 0.1 / (step + 1) for step in range(STEPS)]
        variable_gradients = [of_step[i] for of_step in gradients]
        expected = reference(before[i], variable_gradients, rates, momenta, nesterov)
        np.testing.assert_allclose(np.asarray(variable), expected, 1e-5, 1e-6)


def test_factors_act_without_momentum():
    model = build_network()
    no_momentum = config(momentum=0.0, learning_rate_factors=(("bias", 2.0),))
    optimizer = create(no_momentum, model, STEPS)
    gradients = [[np.ones(v.shape, "float32") for v in model.trainable_variables]]
    before = [np.asarray(v) for v in model.trainable_variables]
    run(optimizer, model.trainable_variables, gradients)
    changes = [a - np.asarray(b) for a, b in
             zip(before, model.trainable_variables, strict=True)]  # fmt: skip
    for change, expected in zip(changes, (0.1, 0.2, 0.1, 0.2), strict=True):
        np.testing.assert_allclose(change, expected, 1e-5)


def test_without_factors_and_rise_the_optimizer_is_sgd_of_keras():
    assert type(create(config(), build_network(), STEPS)) is keras.optimizers.SGD


def test_factors_of_frozen_layers_are_ignored():
    model = build_network()
    model.get_layer("first").trainable = False
    factors = ("first/kernel", 3.0), ("classifier/bias", 0.5)
    optimizer = create(config(learning_rate_factors=factors), model, STEPS)
    gradients = [[np.ones(v.shape, "float32") for v in model.trainable_variables]]
    bias = np.asarray(model.get_layer("classifier").bias)
    run(optimizer, model.trainable_variables, gradients)
    changed = bias - np.asarray(model.get_layer("classifier").bias)
    np.testing.assert_allclose(changed, 0.05, 1e-5)


@pytest.mark.parametrize("name", ["biases", "frist/kernel"])
def test_unknown_variable_suggests_the_nearest(name):
    misspelt = config(learning_rate_factors=((name, 2.0),))
    with pytest.raises(errors.UsageError, match=f"{name}.* Did you mean"):
        create(misspelt, build_network(), STEPS)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"learning_rate_factors": ("bias",)}, "pairs of .* Received: 'bias'"),
        ({"learning_rate_factors": ((2.0, "bias"),)}, "pairs of"),
        ({"learning_rate_factors": (("bias", 0.0),)}, "a factor > 0"),
        ({"learning_rate_factors": (("bias", True),)}, "a factor > 0"),
        ({"momentum_rise": (0.5,)}, r"Received: \(0.5,\)"),
        ({"momentum_rise": ()}, "momentum at iteration 0, in"),
        ({"momentum_rise": (0.95, 3)}, "momentum at iteration 0, in"),
        ({"momentum_rise": (-0.1, 3)}, "momentum at iteration 0, in"),
        ({"momentum_rise": (1, 3)}, "momentum at iteration 0, in"),
        ({"momentum_rise": (0.5, 6)}, "must increase, between 0 and the run's 6"),
    ],
)
def test_wrong_factors_and_rises_are_refused(entries, words):
    with pytest.raises(errors.UsageError, match=words):
        check_sgd_fields(config(**entries).train, STEPS)


@pytest.mark.parametrize("precision", ["float32", "bfloat16_conv"])
def test_muon_takes_its_arguments_from_the_config(precision):
    entries = {"sgd_factor": 2.0, "sgd_decay": 0.1, "momentum": 0.8}
    muon = config(optimizer="muon", nesterov=True, precision=precision, **entries)
    arguments = create(muon, build_network(), STEPS).get_config()
    expected = {"momentum": 0.8, "sgd_factor": 2.0, "sgd_decay": 0.1}
    expected["sgd_layers"] = ["classifier"]
    expected["compute_dtype"] = precision.removesuffix("_conv")
    assert {key: arguments[key] for key in expected} == expected


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"momentum_rise": (0.0, 5)},
        {"momentum_rise": (0.9, 0.5)},
        {"learning_rate_factors": FACTORS},
    ],
)
def test_values_at_the_ends_of_their_ranges_are_accepted(entries):
    check_sgd_fields(config(**entries).train, STEPS)
