"""A small network and its weight file, for the tests to damage."""

import published_weights
import pytest

import elu_zoo
from elu_zoo.weights import h5


@pytest.fixture(scope="module")
def model():
    return elu_zoo.get_model(
        published_weights.MODEL, width=0.1, preprocessing=True, seed=3
    )


@pytest.fixture(scope="module")
def content(model):
    return h5.write(model)


@pytest.fixture
def path(content, tmp_path):
    path = tmp_path / "net.weights.h5"
    path.write_bytes(content)
    return path
