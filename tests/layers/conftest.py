"""Fixtures of statistics files: whitening statistics and a mean image."""

import numpy as np
import pytest

from elu_zoo.layers import data_statistics, statistics_file


def clear_caches():
    data_statistics._tensors.cache_clear()
    data_statistics._tensor.cache_clear()


@pytest.fixture(autouse=True)
def reseeded(request):
    """Draws of a test do not depend on the tests that ran before it."""
    if generator := getattr(request.module, "RNG", None):
        generator.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty $ELU_ZOO_HOME and empty caches of statistics."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    clear_caches()
    yield tmp_path / "home"
    clear_caches()


@pytest.fixture
def small():
    """Whitening statistics of 2 x 3 x 3 images. float16 represents them exactly."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(-64, 65, (18, 18)) / 64
    return statistics_file.Statistics(rng.integers(-64, 65, 18) / 16, matrix + matrix.T)


@pytest.fixture
def whitening(home, small):
    """The name of the statistics file of `small`."""
    return statistics_file.write(home / "statistics", "small", small).stem


@pytest.fixture
def mean():
    """A mean image of 2 x 3 x 3 values, which float16 does not represent exactly."""
    return np.random.default_rng(2).uniform(90, 160, (2, 3, 3)).astype(np.float32)


@pytest.fixture
def mean_name(home, mean):
    """The name of the statistics file of `mean`."""
    return statistics_file.write_mean(home / "statistics", "small", mean).stem
