"""The values and derivatives of figure 1 are compared with formulas."""

from pathlib import Path

import numpy as np
import pytest

from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.figures import fig1_activations

# activation: (function, derivative, x at which the derivative jumps).
FORMULAS = {
    "elu": (lambda x: np.where(x > 0, x, np.expm1(x)),
            lambda x: np.where(x > 0, 1, np.exp(x)), None),
    "relu": (lambda x: np.maximum(x, 0), lambda x: np.where(x > 0, 1, 0), 0),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.1 * x),
                   lambda x: np.where(x > 0, 1, 0.1), 0),
    "shifted_relu": (lambda x: np.maximum(x, -1), lambda x: np.where(x > -1, 1, 0),
                     -1),
}  # fmt: skip


def compute():
    return fig1_activations.compute(Plan("short", None, Path("runs")))


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives_equal_the_formulas(name):
    value, derivative, kink = FORMULAS[name]
    rows = [row for row in compute() if row["activation"] == name]
    x, y, dy = np.array([(r["x"], r["value"], r["derivative"]) for r in rows]).T
    assert (x[0], x[-1]) == (-6, 3) and len(x) >= 200
    np.testing.assert_allclose(y, value(x), atol=1e-6)
    smooth = np.ones_like(x, bool) if kink is None else abs(x - kink) > 0.01
    assert smooth.sum() >= len(x) - 1
    # The tolerance is float32's rounding, divided by the step.
    np.testing.assert_allclose(dy[smooth], derivative(x[smooth]), atol=1e-3)


def test_the_gain_of_elu_is_below_that_of_leaky_relu_where_the_note_says_so():
    gains = {(row["activation"], row["x"]): row["derivative"] for row in compute()}
    slopes = {"leaky_relu": 0.1, "LReLU, slope 0.01": 0.01, "LReLU, slope 0.333": 0.333}
    for name, slope in slopes.items():
        lower = [x for n, x in gains if n == "elu" and gains[name, x] > gains[n, x]]
        assert max(lower) == pytest.approx(np.log(slope), abs=0.03)
