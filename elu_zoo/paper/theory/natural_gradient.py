"""The unit natural gradient and its correction of the bias shift (paper, section 2).

A unit has d incoming units and a bias. Each of n examples z has probability p = 1 / n.
The incoming units have the activations a, and delta = d ln p(y | z) / d net is the
derivative at the unit. The distribution q weights the examples by delta^2. F is the
unit's Fisher matrix, [[A, b], [b^T, c]]. The bias is the last entry of all vectors and
matrices over the unit's weights: (w^T, w_0). Everything is computed in float64.
"""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the incoming activations under p and q.

    Attributes:
        delta2: E_p(delta^2), > 0.
        mean: E_p(a), `(d,)`.
        weighted_mean: E_q(a), `(d,)`.
        weighted_second: E_q(a a^T), `(d, d)`.
        weighted_variance: Var_q(a), `(d, d)`.
        covariance: Cov_p(delta^2, a), `(d,)`.
    """

    delta2: float
    mean: np.ndarray
    weighted_mean: np.ndarray
    weighted_second: np.ndarray
    weighted_variance: np.ndarray
    covariance: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class NaturalGradient:
    """The update of Theorem 1 and its bias shift (Theorem 2).

    A bias shift is the change of the unit's mean net input under p when an update is
    added to the unit's weights. A training step with learning rate eta adds -eta times
    the update, so that the bias shift is -eta times the numbers here.

    Attributes:
        weights: update of the incoming weights, `(d,)`.
        bias: update of the bias weight.
        s: the positive scalar of Theorem 1, the last entry of F^-1.
        k: factor of the correction. It adds -k E_q(a) to the incoming mean E_p(a) and
            multiplies the bias unit by k.
        shift_from_means: (E_p(a) - k E_q(a))^T A^-1 g + k g_0 / c, which by Theorem 2
            is the bias shift (E_p(a)^T, 1) (weights, bias).
        uncorrected_shift: the bias shift with b = 0 and s = 1 / c.
    """

    weights: np.ndarray
    bias: float
    s: float
    k: float
    shift_from_means: float
    uncorrected_shift: float


def unit_fisher(inputs: Any, deltas: Any) -> np.ndarray:
    """Returns the unit Fisher information matrix F (paper, section 2).

    Formula: F_kj = E_p(delta^2 a_k a_j), where a_0 = 1 of the bias is the last entry.

    Args:
        inputs: activations of the incoming units, `(examples, d)`.
        deltas: d ln p(y | z) / d net, `(examples,)`.

    Returns:
        `(d + 1, d + 1)`, the matrix `[[A, b], [b^T, c]]` of Theorem 1.
    """
    inputs, deltas = np.asarray(inputs, np.float64), np.asarray(deltas, np.float64)
    inputs = np.append(inputs, np.ones((len(inputs), 1)), axis=1)
    rows = inputs * (deltas * np.sqrt(1 / len(inputs)))[:, None]
    return rows.T @ rows


def moments(inputs: Any, deltas: Any) -> Moments:
    """Returns the moments of the incoming activations under p and q.

    Formula: q_n = delta_n^2 p_n / E_p(delta^2).

    Args:
        inputs, deltas: see `unit_fisher`.
    """
    inputs, deltas = np.asarray(inputs, np.float64), np.asarray(deltas, np.float64)
    p = np.full(len(inputs), 1 / len(inputs))
    delta2 = float(p @ deltas**2)
    q = p * deltas**2 / delta2
    mean, weighted_mean = p @ inputs, q @ inputs
    second = (inputs.T * q) @ inputs
    return Moments(
        delta2=delta2,
        mean=mean,
        weighted_mean=weighted_mean,
        weighted_second=second,
        weighted_variance=second - np.outer(weighted_mean, weighted_mean),
        covariance=(p * (deltas**2 - delta2)) @ (inputs - mean),
    )


def natural_gradient(unit: Moments, gradient: Any, *, damping: float = 0.0) -> NaturalGradient:
    """Returns a unit's natural gradient and its bias shift (Theorems 1, 2; equations 5, 6, 11).

    Formula, with F = [[A, b], [b^T, c]] and c = E_p(delta^2):

    ```
    weights = A^-1 (g - bias * b)
    bias    = s * (g_0 - b^T A^-1 g)
    s       = (1 + E_q(a)^T Var_q(a)^-1 E_q(a)) / c
    k       = 1 + (E_q(a) - E_p(a))^T Var_q(a)^-1 E_q(a)
    ```

    The update is F^-1 (g^T, g_0)^T, with A + c * damping * I for A. F must not be singular.

    Args:
        unit: moments of the unit.
        gradient: (g^T, g_0) of the loss, `(d + 1,)`, the bias last.
        damping: variance of imaginary noise on each activation, added to Var_q(a).
    """
    gradient = np.asarray(gradient, np.float64)
    noise = damping * np.eye(len(unit.mean))
    g, g_0, c = gradient[:-1], gradient[-1], unit.delta2
    mean, weighted_mean, b = unit.mean, unit.weighted_mean, c * unit.weighted_mean
    a_g, a_b = np.linalg.solve(c * (unit.weighted_second + noise), np.stack([g, b], axis=1)).T
    v_mean = np.linalg.solve(unit.weighted_variance + noise, weighted_mean)
    s = (1 + weighted_mean @ v_mean) / c
    k = 1 + (weighted_mean - mean) @ v_mean
    bias = s * (g_0 - b @ a_g)
    weights = a_g - bias * a_b
    return NaturalGradient(
        weights=weights,
        bias=float(bias),
        s=float(s),
        k=float(k),
        shift_from_means=float((mean - k * weighted_mean) @ a_g + k * g_0 / c),
        uncorrected_shift=float(mean @ a_g + g_0 / c),
    )
