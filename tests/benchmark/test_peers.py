"""Other libraries train the same networks: equal losses from equal weights."""

import numpy as np
import pytest

from elu_zoo.benchmark import step
from elu_zoo.benchmark.case import MODELS, Case

RATES = {"elu_cifar_11": 0.003}  # else its loss hardly changes in ten steps
CASES = [
    Case(model, activation, batch_size=8, steps=10, rate=RATES.get(model, 1e-3))
    for model in MODELS
    for activation in ("elu", "relu")
]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case.model}-{case.activation}",
            marks=pytest.mark.slow if case.is_convolutional else (),
        )
        for case in CASES
    ],
)
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_ten_steps(case, library):
    pytest.importorskip(library)
    peer = {"torch": step.pytorch, "jax": step.pure_jax}[library]
    losses = step.ours(case, "float32")()
    assert np.ptp(losses) > 5e-3 * losses[0]
    # Two values of a pooling that differ by rounding alone send gradients elsewhere.
    tolerance = 1e-3 if case.is_convolutional else 1e-4
    np.testing.assert_allclose(peer(case)(), losses, rtol=tolerance)
