"""Moments and k of units are compared with their definitions.

That the theorems hold is a result, see `elu_zoo.paper.figures.theorems`.
"""

import dataclasses
import functools

import numpy as np
import pytest

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
    a = np.c_[u.inputs, np.ones(len(u.inputs))]
    assert_close(f, np.einsum("n,ni,nj->ij", u.deltas**2, a, a) / len(a))
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
