"""Trials of the schedule quick: configs, order, and committed rows."""

import csv
from pathlib import Path

import recipe_trials

from elu_zoo.training import config_checks

ROOT = Path(__file__).parents[2]


def _rows_with_errors_from(error_of):
    """Returns the rows of all trials, and pairs of stage and trial in order."""
    rows, done = [], []
    for stage, trial in recipe_trials.trials(rows):
        done.append((stage, trial))
        if not recipe_trials.find_row(trial, rows):
            error = error_of(trial)
            row = {k: str(v) for k, v in trial.items()}
            rows.append(row | {"validation_error_percent": str(error)})
    return rows, done


def test_each_config_has_the_settings_of_its_trial_and_reads_no_test_image():
    for _, trial in _rows_with_errors_from(lambda trial: trial["peak"])[1]:
        config = recipe_trials.make_config(trial)
        config_checks.check_config(config)
        assert not config.data.measure_test and not config.data.train_on_validation
        assert config.model.activation.name == trial["activation"]
        assert config.train.learning_rates == (0.0, trial["peak"], 0.0)
        assert config.train.dropout[0][5] == 0.5 * trial["dropout"]
        for part, keys in (
            (config.model, ("width", "initial_kernels", "init_scale")),
            (config.train, ("epochs", "sgd_factor", "label_smoothing")),
            (config.data, ("cutout",)),
        ):
            assert {k: part[k] for k in keys} == {k: trial[k] for k in keys}


def test_a_stage_keeps_the_best_value_for_elu_and_relu_together():
    def error(trial):
        # ELU alone would choose another scale, leaky ReLU alone another peak.
        relu = trial["activation"] == "relu"
        scale = (3 if relu else -1) * abs(trial["init_scale"] - 1.5)
        peak = 1000 * abs(trial["peak"] - 0.015)
        if trial["activation"] == "leaky_relu":
            peak = trial["peak"] - 100
        kernels = trial["initial_kernels"] == "normal"
        others = trial["sgd_factor"] + trial["label_smoothing"] + trial["dropout"]
        return 50 + scale + peak + kernels + others

    rows, done = _rows_with_errors_from(error)
    final = [trial for stage, trial in done if stage == "full_width"]
    assert len(final) == 3 * 2 * 2  # seeds, recipes, activations
    assert {(t["init_scale"], t["peak"]) for t in final} == {(1.5, 0.015)}
    assert {(t["label_smoothing"], t["dropout"]) for t in final} == {(0, 0), (0.1, 0)}
    assert {(t["width"], t["epochs"]) for t in final} == {(1.0, 8)}
    long = [trial for stage, trial in done if stage == "long"]
    assert [(t["dropout"], t["epochs"]) for t in long] == [(0.25, 30), (0.5, 30)]
    longest = [trial for stage, trial in done if stage == "longest"]
    assert [(t["cutout"], t["epochs"]) for t in longest] == [(0, 100), (8, 100)]
    assert {(t["init_scale"], t["peak"]) for t in long + longest} == {(1.5, 0.015)}
    assert len(rows) == len({tuple(row.items()) for row in rows})


def test_the_committed_rows_belong_to_trials():
    path = ROOT / "configs" / "results" / "quick_trials.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert rows
    keys = next(recipe_trials.trials([]))[1]
    staged = list(recipe_trials.trials(rows))
    for row in rows:
        trial = {key: type(value)(row[key]) for key, value in keys.items()}
        config_checks.check_config(recipe_trials.make_config(trial))
        assert recipe_trials.find_row(trial, rows) == row
        assert row["stage"] == "before" or (row["stage"], trial) in staged
    # Trials that were made before the stages were fixed.
    assert sum(row["stage"] == "before" for row in rows) == 8
