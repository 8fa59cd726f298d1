import pytest

from elu_zoo.layers import statistics_file


@pytest.fixture
def write_mean(tmp_path, monkeypatch):
    """Writes a mean image under a name, to a $ELU_ZOO_HOME of the test's own."""
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path))

    def write(name, mean):
        return statistics_file.write_mean(tmp_path / "statistics", name, mean)

    return write
