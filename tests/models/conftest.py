import keras
import pytest

from elu_zoo import initializers
from elu_zoo.layers import statistics_file


@pytest.fixture
def write_mean(tmp_path, monkeypatch):
    """Returns a function that writes a mean image to a new $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))

    def write(name, mean):
        return statistics_file.write_mean(tmp_path / "statistics", name, mean)

    return write


@pytest.fixture(scope="module")
def zero_weights():
    """Sets all initial weights to zero, because millions of random draws are slow."""

    def zeros(self, shape, dtype=None):
        return keras.ops.zeros(shape, dtype)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("HeUniform", "FanInNormal", "Normal", "Uniform"):
            patch.setattr(getattr(initializers, name), "__call__", zeros)
        yield
