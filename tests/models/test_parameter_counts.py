"""Every registered model's size; preprocessing layers apart."""

import pytest

import elu_zoo
from elu_zoo.models import cost

# Sums over layers of (inputs + 1) * units, of convolutions (field**2 * inputs + 1).
PARAMETERS = {
    "mnist_mlp_8x128": 217_354,
    "mnist_mlp_5x256": 466_698,
    "mnist_autoencoder": 2_837_314,
    "elu_cifar_11": 1_669_028,
    "elu_cifar_18": 39_330_404,
}


def test_no_model_is_missing():
    assert sorted(PARAMETERS) == sorted(elu_zoo.list_models())


@pytest.mark.parametrize("name", PARAMETERS)
def test_count(name):
    model = elu_zoo.get_model(name)
    assert cost.parameters(model) == PARAMETERS[name]
    assert model.count_params() == PARAMETERS[name]
    raw = elu_zoo.get_model(name, preprocessing=True)
    assert cost.parameters(raw) == PARAMETERS[name]
