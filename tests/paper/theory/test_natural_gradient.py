"""The Fisher matrix and the moments of a unit are compared with their definitions.

That the theorems hold is a result, see `elu_zoo.paper.figures.theorems`.
"""

import numpy as np

from elu_zoo.paper.theory import natural_gradient as ng


def test_fisher_matrix_and_moments_equal_the_definitions():
    rng = np.random.default_rng(0)
    inputs, deltas = rng.normal(size=(90, 4)) + [0, 1, -2, 3], rng.normal(size=90)
    a, q = np.c_[inputs, np.ones(90)], deltas**2 / (deltas**2).sum()
    fisher = np.einsum("n,ni,nj->ij", deltas**2, a, a) / 90
    np.testing.assert_allclose(ng.unit_fisher(inputs, deltas), fisher)
    found, mean = ng.moments(inputs, deltas), q @ inputs
    second = np.einsum("n,ni,nj->ij", q, inputs, inputs)
    expected = {
        "delta2": (deltas**2).mean(),
        "mean": inputs.mean(axis=0),
        "weighted_mean": mean,
        "weighted_second": second,
        "weighted_variance": second - np.outer(mean, mean),
        "covariance": (deltas**2) @ inputs / 90 - (deltas**2).mean() * inputs.mean(axis=0),
    }
    assert vars(found).keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name), value, err_msg=name)
