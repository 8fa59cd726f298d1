"""Trials of the schedule quick: their configs, and no test image in any."""

import csv
from pathlib import Path

import pytest
import recipe_trials

from elu_zoo.training import settings

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("stage", recipe_trials.STAGES)
def test_each_config_is_its_trials_and_reads_no_test_image(stage):
    for trial in recipe_trials.trials(stage):
        config = recipe_trials.config_of(trial)
        settings.check(config)
        assert not config.data.measure_test and not config.data.train_on_validation
        assert config.model.activation.name == trial["activation"]
        assert config.train.learning_rates == (0.0, trial["peak"], 0.0)
        assert config.train.dropout[0][5] == 0.5 * trial["dropout"]
        for part, keys in (
            (config.model, ("width", "initial_kernels", "init_scale")),
            (config.train, ("epochs", "sgd_factor", "label_smoothing")),
        ):
            assert {k: part[k] for k in keys} == {k: trial[k] for k in keys}


def test_the_committed_rows_are_of_trials():
    path = ROOT / "configs" / "results" / "quick_trials.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert rows
    for row in rows:
        trials = recipe_trials.trials(row["stage"])
        assert any(all(row[k] == str(v) for k, v in t.items()) for t in trials)
