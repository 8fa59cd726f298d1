"""Bias shifts of models, compared with the theorems in NumPy.

`KERAS_BACKEND=jax python ../no_tensorflow.py test_bias_shift.py FILE` writes `computed()`.
"""

import itertools
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from small_nets import dense, examples

from elu_zoo import errors
from elu_zoo.paper.theory import bias_shift as module
from elu_zoo.paper.theory.bias_shift import bias_shift


def shifts(model, images, labels):
    names = ["hidden", "classifier"]
    found = bias_shift(model, images, labels, layers=names, dampings=[1e-3])
    return {name: measures for name, (measures,) in found.items()}


def brute_force(inputs, squares, losses, damping):
    """Returns the measures of one unit, computed from the theorems' definitions."""
    a = np.c_[inputs, np.ones(len(inputs))]
    c = squares.mean()
    f = (a.T * squares) @ a / len(a)
    f[:-1, :-1] += damping * c * np.eye(len(f) - 1)
    gradient = a.T @ losses / len(a)
    mean, weighted = inputs.mean(axis=0), f[-1, :-1] / c
    variance = f[:-1, :-1] / c - np.outer(weighted, weighted)
    a_g = np.linalg.inv(f[:-1, :-1]) @ gradient[:-1]
    natural = np.linalg.inv(f) @ gradient
    lengths = np.linalg.norm(natural) * np.linalg.norm(gradient)
    return {
        "k": 1 + (weighted - mean) @ np.linalg.inv(variance) @ weighted,
        "shift": np.append(mean, 1) @ natural,
        "cosine": natural @ gradient / lengths,
        "uncorrected_shift": mean @ a_g + gradient[-1] / c,
        "weighted_mean_length": np.linalg.norm(weighted),
        "mean_length": np.linalg.norm(mean),
        "effective_draws": squares.sum() ** 2 / (squares**2).sum(),
    }


@pytest.mark.parametrize("seed", range(3))
def test_measures_equal_the_definitions(seed):
    rng = np.random.default_rng(seed)
    inputs = np.maximum(rng.normal(size=(200, 9)), -1) + rng.normal(size=9)
    squares, losses = rng.random((200, 4)) ** 3 * 1e-6, rng.normal(size=(200, 4))
    dampings = 1e-9, 0.03
    every = module._of_layer(inputs, squares, losses, dampings)
    for (damping, measured), i in itertools.product(zip(dampings, every, strict=True), range(4)):
        expected = brute_force(inputs, squares[:, i], losses[:, i], damping)
        for name, value in expected.items():
            assert getattr(measured, name)[i] == pytest.approx(value, rel=1e-6), name
    covariance = np.cov(inputs.T, squares.T)[:9, 9:]
    largest = covariance[np.abs(covariance).argmax(axis=0), range(4)]
    assert (every[0].positive_share_10 == (largest > 0)).all()


def test_positive_shares_count_the_largest_covariances():
    inputs = np.random.default_rng(0).normal(size=(5000, 25))
    covariance = np.r_[-4, 3, 2, -1, 0.5, np.zeros(20)]
    assert list(module._positive_shares(inputs, covariance).values()) == [1 / 2, 2 / 3, 3 / 5]
    inputs[:, 10:] = 0  # only ten units vary, so that the shares are of 1, 1 and 2
    assert list(module._positive_shares(inputs, covariance).values()) == [0, 0, 1 / 2]


def test_delta2_is_the_expectation_over_the_softmax():
    model = dense()
    images, labels = examples(model)
    odds = np.exp(np.float64(model(images)))
    p = odds / odds.sum(axis=1, keepdims=True)
    squares = p * (1 - p)  # the variance of each class's indicator
    expected = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
    found = shifts(model, images, labels)["classifier"].effective_draws
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_cosine_of_a_zero_gradient_is_nan():
    inputs = np.random.default_rng(0).normal(size=(50, 1))
    assert np.isnan(module._of_layer(inputs, inputs**2, 0 * inputs, [0.1])[0].cosine).all()


def test_dead_units_have_nan():
    model = dense("relu")
    images, labels = examples(model)
    images[:, 0, 0] = 0
    model.get_layer("hidden").bias.assign([0, -100, 0, 0, 0])
    found = shifts(model, images, labels)
    for field, values in vars(found["hidden"]).items():
        alive = field == "mean_length"
        assert np.isfinite(values).tolist() == [True, alive, True, True, True]
    assert all(np.isfinite(v).all() for v in vars(found["classifier"]).values())


def test_the_model_is_unchanged_afterwards():
    model = dense(keras.layers.ReLU(), inner=True)
    activation = model.get_layer("hidden").activation
    before = [len(x._inbound_nodes + x._outbound_nodes) for x in model.layers]
    images, labels = examples(model)
    logits = np.array(model(images))
    assert list(shifts(model, images, labels)) == ["hidden", "classifier"]
    after = [len(x._inbound_nodes + x._outbound_nodes) for x in model.layers]
    assert before == after
    assert model.get_layer("hidden").activation is activation
    np.testing.assert_array_equal(model(images), logits)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dampings": [0.0]}, "damping .* > 0"),
        ({"layers": ["flatten"]}, "'flatten' is not a Dense"),
    ],
)
def test_wrong_arguments_raise_an_error(wrong, message):
    model = dense()
    right = {"layers": ["hidden"], "dampings": [0.1]}
    with pytest.raises(errors.UsageError, match=message):
        bias_shift(model, *examples(model, 3), **right | wrong)


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("activation", ["elu", "relu"])
def test_deltas_of_dense_layers_equal_backpropagation(activation, inner):
    model = dense(activation, inner)
    images, labels = examples(model)
    w1, b1, w2, b2 = (np.float64(w) for w in model.get_weights())
    x = np.float64(images.reshape(len(images), -1))
    net_input = x @ w1 + b1
    is_elu = activation == "elu"
    negative, slope = is_elu * np.expm1(net_input), is_elu * np.exp(net_input)
    hidden = np.where(net_input > 0, net_input, negative)
    odds = np.exp(hidden @ w2 + b2)
    deltas = np.eye(4)[labels] - odds / odds.sum(axis=1, keepdims=True)
    before = (deltas @ w2.T) * np.where(net_input > 0, 1, slope)
    for name, expected in ("classifier", deltas), ("hidden", before):
        found = module.deltas(model, model.get_layer(name), images, labels)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def computed():
    """Returns measures that do not depend on the backend, by layer and name."""
    model = dense()
    found = shifts(model, *examples(model))
    return {f"{layer}/{name}": x for layer, each in found.items() for name, x in vars(each).items()}


@pytest.mark.slow
def test_jax_computes_the_same_measures(tmp_path):
    pytest.importorskip("jax")
    import no_tensorflow

    script = [sys.executable, no_tensorflow.__file__, __file__, tmp_path / "found.npz"]
    subprocess.run(script, env={**os.environ, "KERAS_BACKEND": "jax"}, check=True)
    with np.load(tmp_path / "found.npz") as found:
        for name, expected in computed().items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-3, err_msg=name)


if __name__ == "__main__":
    np.savez(sys.argv[1], **computed())
