"""Moments, k and solutions of units are compared with their definitions.

That the theorems hold is a result, see `elu_zoo.paper.figures.theorems`.
"""

import dataclasses
import functools

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.paper.theory import natural_gradient as ng

SEEDS = pytest.mark.parametrize("seed", range(3))


@dataclasses.dataclass(frozen=True)
class Unit:
    """Inputs, deltas and gradient of a unit, with moments under p and q."""

    inputs: np.ndarray
    deltas: np.ndarray
    gradient: np.ndarray

    def __post_init__(self):
        q = self.deltas**2 / (self.deltas**2).sum()
        mean = q @ self.inputs
        second = np.einsum("n,ni,nj->ij", q, self.inputs, self.inputs)
        variance = second - np.outer(mean, mean)
        vars(self).update(mean=self.inputs.mean(axis=0), weighted_mean=mean)
        vars(self).update(second=second, variance=variance)

    def fisher(self):
        """Returns F by its definition; the bias is the last entry."""
        a = np.c_[self.inputs, np.ones(len(self.inputs))]
        return np.einsum("n,ni,nj->ij", self.deltas**2, a, a) / len(a)

    def natural_gradient(self):
        return ng.natural_gradient(self.inputs, self.deltas, self.gradient)

    def moved(self, by):
        """Returns the same unit with `by` added to the incoming activations."""
        gradient = self.gradient + self.gradient[-1] * np.append(by, 0)
        return dataclasses.replace(self, inputs=self.inputs + by, gradient=gradient)


@functools.cache
def unit(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    n = 20 * d + int(rng.integers(50))
    mixing = rng.normal(size=(d, d)) + 2 * np.eye(d)
    inputs = np.maximum(rng.normal(size=(n, d)), -1) @ mixing + rng.normal(size=d)
    deltas = rng.normal(size=n) * (1 + np.abs(inputs[:, 0]))
    return Unit(inputs, deltas, rng.normal(size=d + 1))


def assert_close(found, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)


@SEEDS
def test_fisher_matrix_and_moments_equal_the_definitions(seed):
    u = unit(seed)
    f = ng.unit_fisher(u.inputs, u.deltas)
    assert_close(f, u.fisher())
    m = ng.moments(u.inputs, u.deltas)
    assert_close(m.delta2, (u.deltas**2).mean())
    assert_close(m.mean, u.mean)
    assert_close(m.weighted_mean, u.weighted_mean)
    assert_close(m.weighted_second, u.second)
    assert_close(m.weighted_variance, u.variance)
    # A = E_p(delta^2) E_q(a a^T), c = E_p(delta^2), and the paper's equation for b.
    assert_close(f[:-1, :-1], m.delta2 * m.weighted_second)
    assert_close(f[-1, -1], m.delta2)
    assert_close(f[-1, :-1], m.covariance + m.mean * m.delta2)
    assert_close(m.weighted_mean, m.mean + m.covariance / m.delta2)


@SEEDS
def test_k_depends_on_delta2_and_on_the_means(seed):
    u = unit(seed)
    # k is 1 if delta^2 is constant, and at least 1 if E_p(a) is 0.
    equal = dataclasses.replace(u, deltas=np.sign(u.deltas) * 3)
    assert equal.natural_gradient().k == pytest.approx(1, rel=1e-9)
    assert u.moved(-u.mean).natural_gradient().k >= 1
    # For given variance and covariance, k - 1 is proportional to the length of E_q(a).
    k = [u.moved((r - 1) * u.weighted_mean).natural_gradient().k for r in (1, 2, 5)]
    assert_close(k[1] - 1, 2 * (k[0] - 1))
    assert_close(k[2] - 1, 5 * (k[0] - 1))


def layer(seed, examples, d=12, units=5):
    """Returns inputs, which are rectified, deltas and right sides of a layer."""
    rng = np.random.default_rng(seed)
    inputs = np.maximum(rng.normal(size=(examples, d)), 0)
    deltas = rng.normal(size=(examples, units)) * rng.integers(0, 2, (examples, units))
    return inputs, 1e-3 * deltas, rng.normal(size=(d, units, 2))


@SEEDS
@pytest.mark.parametrize("examples", [1, 9, 14, 40, 240])
def test_each_unit_of_a_layer_is_solved_for_several_right_sides(seed, examples):
    # With damping there may be fewer examples than weights.
    inputs, deltas, right = layer(seed, examples)
    damping = np.array([1e-6, 1e-5, 1e-4, 1.0, 10.0]) * (examples < 240)
    found = ng.solve_units(inputs, deltas, right, damping)
    for i in range(5):
        a = ng.unit_fisher(inputs, deltas[:, i])[:-1, :-1] + damping[i] * np.eye(12)
        assert_close(found[:, i], np.linalg.solve(a, right[:, i]))


def test_dead_units_need_damping_and_do_not_change_others():
    inputs, deltas, right = layer(1, 240)
    damping, none = np.full(5, 1e-4), np.zeros(5)
    dead = ng.solve_units(inputs, deltas * [1, 0, 1, 1, 1], right, damping)
    assert_close(dead[:, 1], right[:, 1] / 1e-4)
    # Without its dead incoming unit a layer has the same solutions.
    without = np.delete(inputs, 3, axis=1), deltas, np.delete(right, 3, axis=0)
    inputs[:, 3] = 0
    damped = ng.solve_units(inputs, deltas, right, damping)
    assert_close(damped[3], right[3] / 1e-4)
    assert_close(np.delete(damped, 3, axis=0), ng.solve_units(*without, damping))
    with pytest.raises(errors.UsageError, match="unit 0 is singular"):
        ng.solve_units(inputs, deltas, right, none)
    right[3] = 0
    solved = ng.solve_units(inputs, deltas, right, none)
    assert (solved[3] == 0).all()
    assert_close(np.delete(solved, 3, axis=0), ng.solve_units(*without, none))


GOOD = (np.arange(12.0).reshape(6, 2) ** 2, np.arange(1.0, 7), np.ones(3))


SINGULAR = {
    "constant": np.c_[GOOD[0], np.full(6, 7.0)],
    "zero": np.c_[GOOD[0], np.zeros(6)],
    "combination": np.c_[GOOD[0], GOOD[0] @ [1, -3] + 2],
    "few": np.random.default_rng(0).normal(size=(6, 6)),
}


@pytest.mark.parametrize(("name", "inputs"), SINGULAR.items())
def test_singular_matrices_without_damping_raise_an_error(name, inputs):
    gradient = np.ones(inputs.shape[1] + 1)
    with pytest.raises(errors.UsageError, match="is singular.*Pass more examples"):
        ng.natural_gradient(inputs, GOOD[1], gradient)
    with pytest.raises(errors.UsageError, match="All deltas of the unit are 0"):
        ng.natural_gradient(inputs, 0 * GOOD[1], gradient)
    inputs = np.c_[inputs, np.ones(6)]  # of the bias unit
    unit = inputs, GOOD[1][:, None], gradient[:, None, None]
    for damping in (0,) if name == "zero" else (0, 1e-12):
        # A row of A that is 0 needs no solution.
        with pytest.raises(errors.UsageError, match="Pass damping > 0, or more"):
            ng.solve_units(*unit, np.array([damping]))
    assert np.isfinite(ng.solve_units(*unit, np.array([0.1]))).all()
