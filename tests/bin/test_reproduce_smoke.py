"""elu-zoo-reproduce all, with the smallest budget."""

import subprocess
import sys

import pytest

from elu_zoo.paper.experiments import EXPERIMENTS


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("mnist", "cifar100")
def test_all_experiments_write_their_figures_and_the_report(tmp_path):
    command = [sys.executable, "-m", "elu_zoo.bin.reproduce", "all", "--budget=smoke"]
    subprocess.run(command, cwd=tmp_path, check=True)
    folder = tmp_path / "reproduction"
    report = (folder / "reproduction.md").read_text()
    assert "Not run yet" not in report
    for name, experiment in EXPERIMENTS.items():
        assert experiment.title in report
        if experiment.draw:
            for suffix in ("png", "svg"):
                assert (folder / "figures" / f"{name}.{suffix}").stat().st_size > 5000
    rows = (folder / "claims.csv").read_text().splitlines()[1:]
    # Smoke runs are too short to decide a claim.
    assert rows and all(row.endswith(",not tested") for row in rows)
