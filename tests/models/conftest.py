import pytest

from elu_zoo.layers import statistics_file


@pytest.fixture
def write_mean(tmp_path, monkeypatch):
    """Returns a function that writes a mean image to a new $ELU_ZOO_HOME."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))

    def write(name, mean):
        return statistics_file.write_mean(tmp_path / "statistics", name, mean)

    return write
