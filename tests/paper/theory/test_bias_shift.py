"""Bias shifts of models, compared with the theorems in NumPy.

`KERAS_BACKEND=jax python ../no_tensorflow.py test_bias_shift.py FILE` writes the arrays
of `computed` to FILE.
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


def arrays(found):
    """Returns the measures of all layers as one dict, by layer and field."""
    return {f"{n}/{k}": v for n, each in found.items() for k, v in vars(each).items()}


def shifts(model, images, labels):
    return bias_shift(model, images, labels, layers=["hidden", "classifier"], damping=1e-3)


def correlation(inputs):
    """Returns the mean absolute correlation over all pairs of columns."""
    columns = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    pairs = itertools.combinations(columns.T, 2)
    return np.mean([abs((first * second).mean()) for first, second in pairs])


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
        "input_correlation": correlation(inputs),
        "delta2": c,
        "effective_draws": squares.sum() ** 2 / (squares**2).sum(),
    }


@pytest.mark.parametrize("damping", [1e-9, 0.03])
@pytest.mark.parametrize("seed", range(3))
def test_measures_equal_the_definitions(seed, damping):
    rng = np.random.default_rng(seed)
    inputs = np.maximum(rng.normal(size=(200, 9)), -1) + rng.normal(size=9)
    squares, losses = rng.random((200, 4)) ** 3 * 1e-6, rng.normal(size=(200, 4))
    measured = module._of_layer(inputs, squares, losses, damping)
    for i in range(4):
        expected = brute_force(inputs, squares[:, i], losses[:, i], damping)
        for name, value in expected.items():
            assert getattr(measured, name)[i] == pytest.approx(value, rel=1e-6), name
    covariance = np.cov(inputs.T, squares.T)[:9, 9:]
    largest = covariance[np.abs(covariance).argmax(axis=0), range(4)]
    assert (measured.positive_share == (largest > 0)).all()


def test_positive_share_counts_the_largest_tenth_of_the_covariances():
    inputs = np.random.default_rng(0).normal(size=(5000, 25))
    squares = (inputs @ np.r_[-4, 3, 2, -1, np.zeros(21)] + 100)[:, None]
    assert module._positive_share(inputs, squares) == 2 / 3
    inputs[:, 10:] = 0  # only ten units vary, so that a tenth is one unit
    assert module._positive_share(inputs, squares) == 0
    assert module._correlation(inputs) == pytest.approx(correlation(inputs[:, :10]))


def test_delta2_is_the_expectation_over_the_softmax():
    model = dense()
    images, labels = examples(model)
    odds = np.exp(np.float64(model(images)))
    p = odds / odds.sum(axis=1, keepdims=True)
    expected = (p * (1 - p)).mean(axis=0)  # the variance of each class's indicator
    found = shifts(model, images, labels)["classifier"].delta2
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_correlation_of_one_unit_and_cosine_of_a_zero_gradient_are_nan():
    inputs = np.random.default_rng(0).normal(size=(50, 1))
    found = module._of_layer(inputs, inputs**2, 0 * inputs, 0.1)
    assert np.isnan([found.input_correlation, found.cosine]).all()


def test_dead_units_have_nan():
    model = dense("relu")
    images, labels = examples(model)
    images[:, 0, 0] = 0
    model.get_layer("hidden").bias.assign([0, -100, 0, 0, 0])
    found = shifts(model, images, labels)
    for field, values in vars(found["hidden"]).items():
        alive = field in ("delta2", "mean_length", "input_correlation")
        assert np.isfinite(values).tolist() == [True, alive, True, True, True]
    assert found["hidden"].delta2[1] == 0
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
    [({"damping": 0.0}, "damping .* > 0"), ({"layers": ["flatten"]}, "'flatten' is not a Dense")],
)
def test_wrong_arguments_raise_an_error(wrong, message):
    model = dense()
    right = {"layers": ["hidden"], "damping": 0.1}
    with pytest.raises(errors.UsageError, match=message):
        bias_shift(model, *examples(model, 3), **right | wrong)


def computed():
    """Returns measures that do not depend on the backend."""
    model = dense()
    images, labels = examples(model)
    return arrays(shifts(model, images, labels))


@pytest.mark.slow
def test_jax_computes_the_same_measures(tmp_path):
    pytest.importorskip("jax")
    import no_tensorflow

    script = [sys.executable, no_tensorflow.__file__, __file__, tmp_path / "found.npz"]
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as found:
        for name, expected in computed().items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-3, err_msg=name)


if __name__ == "__main__":
    assert keras.backend.backend() == "jax"
    np.savez(sys.argv[1], **computed())
