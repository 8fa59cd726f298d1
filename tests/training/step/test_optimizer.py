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
        ({"momentum": 0, "learning_rate_factors": (("bias", 2.0),)}, (1, 2, 1, 2), [0.0] * STEPS),
    ],
)
def test_updates_equal_float64(entries, factors, momenta, nesterov):
    model = build_network()
    nesterov = nesterov and entries.get("momentum") != 0
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


def test_an_unknown_variable_suggests_the_nearest():
    misspelt = config(learning_rate_factors=(("frist/kernel", 2.0),))
    with pytest.raises(errors.UsageError, match="Did you mean 'first/kernel'"):
        create(misspelt, build_network(), STEPS)


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ({"learning_rate_factors": ("bias",)}, "pairs"),
        ({"learning_rate_factors": ((2.0, "bias"),)}, "pairs"),
        ({"learning_rate_factors": (("bias", 0.0),)}, "factor > 0"),
        ({"momentum_rise": (0.5,)}, "momentum_rise"),
        ({"momentum_rise": ()}, "momentum_rise"),
        ({"momentum_rise": (0.95, 3)}, "momentum_rise"),
        ({"momentum_rise": (0.5, 0)}, "momentum_rise"),
        ({"momentum_rise": (0.5, 6)}, "between 0 and the run's 6"),
    ],
)
def test_wrong_factors_and_rises_are_refused(entries, word):
    with pytest.raises(errors.UsageError, match=word):
        check_sgd_fields(config(**entries).train, STEPS)


@pytest.mark.parametrize("precision", ["float32", "bfloat16_conv"])
def test_muon_takes_its_arguments_from_the_config(precision):
    sgd = {"sgd_factor": 2.0, "sgd_decay": 0.1}
    entries = {"optimizer": "muon", "nesterov": True, "momentum": 0.8, **sgd}
    arguments = create(config(precision=precision, **entries), build_network(), STEPS).get_config()
    expected = {"momentum": 0.8, **sgd, "sgd_layers": ["classifier"]}
    expected["compute_dtype"] = precision.removesuffix("_conv")
    assert {key: arguments[key] for key in expected} == expected
