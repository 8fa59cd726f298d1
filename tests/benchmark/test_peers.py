"""Training by PyTorch and JAX from the same weights, compared with this package."""

import numpy as np
import pytest

from elu_zoo.benchmark import step
from elu_zoo.benchmark.case import Case

RATES = {"elu_cifar_11": 5e-5}  # higher rates amplify rounding errors in ten steps
PEERS = {"torch": step.pytorch, "jax": step.pure_jax}


@pytest.mark.parametrize(
    ("model", "activation"),
    [
        pytest.param("mnist_mlp_8x128", "relu", marks=pytest.mark.slow),
        pytest.param("mnist_autoencoder", "elu", marks=pytest.mark.slow),
        pytest.param("elu_cifar_11", "elu", marks=pytest.mark.slow),
        pytest.param("elu_cifar_11", "relu", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("library", PEERS)
def test_ten_steps_have_equal_losses(model, activation, library):
    pytest.importorskip(library)
    rate = RATES.get(model, 1e-3)
    case = Case(model, activation, batch_size=8, steps=10, rate=rate)
    losses = step.ours(case, "float32")()
    assert np.ptp(losses) > 5e-3 * losses[0]
    # If two inputs of a max pooling are almost equal, rounding decides which input
    # gets the gradient. Losses of convolutional networks therefore differ more.
    tolerance = 1e-3 if case.is_convolutional else 1e-4
    np.testing.assert_allclose(PEERS[library](case)(), losses, rtol=tolerance)
