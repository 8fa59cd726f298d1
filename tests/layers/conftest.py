import numpy as np
import pytest

from elu_zoo.layers import statistics_file, zca_whitening


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty $ELU_ZOO_HOME, and nothing read from it yet."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    zca_whitening._tensors.cache_clear()
    yield tmp_path / "home"
    zca_whitening._tensors.cache_clear()


@pytest.fixture
def small():
    """Statistics of images 2 x 3 x 3, in numbers that float16 holds."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(-64, 65, (18, 18)) / 64
    return statistics_file.Statistics(rng.integers(-64, 65, 18) / 16, matrix + matrix.T)


@pytest.fixture
def whitening(home, small):
    """The name of the file of `small`."""
    return statistics_file.write(home / "statistics", "small", small).stem
