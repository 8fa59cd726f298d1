"""Intervals compared with closed forms, rows of runs, and the paper's numbers."""

import importlib
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats

from elu_zoo import results
from elu_zoo.weights import manifest


def test_student_is_the_interval_of_the_mean():
    for count in range(2, 32):
        values = np.random.default_rng(count).normal(2.5, 0.3, count)
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert results.student(values) == pytest.approx(tuple(expected), abs=1e-5)
    assert np.isnan(results.student([2.5])).all() and np.isnan(results.student([2.5] * 3)).all()
    assert not results.vary([5.3 - 5.0, 5.2 - 4.9], 5.3)


@pytest.mark.parametrize(
    ("guessing", "trained", "classes"), [(88.65, 87.9, 10), (48.1, 47.0, 2), (98.9, 98.7, 100)]
)
def test_an_error_of_guessing_is_not_trained(guessing, trained, classes):
    assert not results.beats_chance(guessing, classes)
    assert results.beats_chance(trained, classes) and results.beats_chance(trained, 0)


ENTRY = {
    "model": "net",
    "dataset": "mnist",
    "arguments": {"activation": {"name": "elu", "alpha": 1.0}, "batch_norm": False},
    "config": {"name": "net-ours30"},
    "schedule": "ours",
    "epochs": 30,
    "metrics": {"test_error_percent": 2.5, "test_loss": 0.1},
    "examples": {"train": 50_000, "validation": 10_000, "test": 10_000},
    "sha256": "0",
}
SQUARED = ENTRY | {"metrics": {"test_squared_error": 3.1668, "test_loss": 57.0}}
RUN = {"model": "net", "dataset": "mnist", "activation": "elu", "batch_norm": "False"}
RUN |= {"config": "net-ours30", "schedule": "ours", "epochs": "30"}


def row(seed=0, **changes):
    error = {"test_error_percent": str(2.5 + seed), "test_squared_error": str(3.0 + seed)}
    return {**RUN, **error, "seed": str(seed), "sha256": str(seed), **changes}


def test_the_error_of_a_file_has_wilsons_interval():
    error = results.file_error(ENTRY)
    assert error.name == "this file, on 10,000 test images"
    assert (error.value, error.interval) == ("2.50 %", "2.21 to 2.82 %")
    error = results.file_error(SQUARED)
    assert (error.value, error.interval) == ("3.17, squared", "")


@pytest.mark.parametrize(
    ("entry", "rows", "expected"),
    [
        (ENTRY, [], ("its recipe", "", "no run in results.csv")),
        (ENTRY, [row(1), row(2)], ("its recipe", "", "no run in results.csv")),  # other widths?
        (ENTRY, [row()], ("its recipe, seed 0", "2.50 %", "one run: no interval")),
        (ENTRY, [row(10), row(2), row(0)],
         ("its recipe, 3 runs (seeds 0, 2, 10)", "6.50 ± 5.29 %", "0.00 to 19.64 %")),
        (ENTRY | {"classes": list("0123456789")}, [row(), row(1, test_error_percent="90.1")],
         ("its recipe, seed 0; 1 more at chance, not trained", "2.50 %", "one run: no interval")),
        (SQUARED, [row(0), row(1)],
         ("its recipe, 2 runs (seeds 0, 1)", "3.50 ± 0.71, squared", "0.00 to 9.85, squared")),
    ],
)  # fmt: skip
def test_the_error_of_a_recipe_has_students_interval(entry, rows, expected):
    error = results.recipe_error(entry, rows)
    assert (error.name, error.value, error.interval) == expected


def test_only_runs_of_the_same_recipe_are_found():
    other = {"config": "net-fast24", "model": "other", "dataset": "mnist_5k", "activation": "relu"}
    other |= {"batch_norm": "True", "schedule": "paper", "epochs": "3"}
    rows = [row(), row(sha256="9"), *(row(1, **{key: value}) for key, value in other.items())]
    assert results.find_runs(ENTRY, rows) == [row()]


PAPER = RUN | {"test_error_percent": "28.75", "standard_deviation": "0.24"}
PAPER |= {"section": "4.2", "runs": "10"}
SCHEDULE = {"schedule": "paper", "schedule_share": 1.0, "config": {"name": "net-mnist"}}
SCHEDULE["command"] = "elu-zoo-train --config=net"
ONE_RUN = PAPER | {"runs": "1", "standard_deviation": ""}
UNKNOWN = "the paper", "no number"


@pytest.mark.parametrize(
    ("arguments", "paper", "expected"),
    [
        ({}, PAPER, ("the paper, section 4.2, 10 runs", "28.75 ± 0.24 %")),
        ({}, ONE_RUN, ("the paper, section 4.2, 1 run", "28.75 %")),
        ({}, ONE_RUN | {"runs": ""}, ("the paper, section 4.2, not a run of its own", "28.75 %")),
        ({"width": 0.5}, PAPER, UNKNOWN),
        ({"batch_norm": True}, PAPER, UNKNOWN),
        ({}, PAPER | {"dataset": "cifar10"}, UNKNOWN),
    ],
)
def test_the_papers_error_is_from_an_equal_experiment(arguments, paper, expected):
    entry = ENTRY | SCHEDULE | {"arguments": ENTRY["arguments"] | arguments}
    error = results.paper_error(entry, [paper])
    assert (error.name, error.value, error.interval) == (*expected, "")


def test_the_papers_error_is_of_its_recipe_and_states_the_share_of_its_schedule():
    words = "--config.model.padding=5", "--config=my/net.py:a=1", "--config.train.evaluate_every=5"
    changes = [{"command": f"train --config=net {word}"} for word in words]
    for change in (*changes, {"command": None}, {"schedule_share": 1.1}):
        error = results.paper_error(ENTRY | SCHEDULE | change, [PAPER])
        assert (error.value == UNKNOWN[1]) == (change is not changes[2])
    shorter = {"schedule_share": 0.0212, "config": {"name": "net-mnist-paper30"}}
    error = results.paper_error(ENTRY | SCHEDULE | shorter, [PAPER])
    assert error.name.endswith(" runs, after its whole schedule; this file had 2% of it")
    assert results.paper_error(ENTRY, [PAPER]) is None  # The recipe is not the paper's.


def test_published_weights_are_among_the_runs_of_their_recipe():
    for entry in manifest.published().values():
        runs = results.find_runs(entry, results.read("results.csv"))
        (match,) = [run for run in runs if run["sha256"] == entry["sha256"]]
        assert (match["seed"], match["commit"]) == (str(entry["seed"]), entry["commit"])
        assert {k: float(match[k]) for k in entry["metrics"]} == entry["metrics"]


@pytest.mark.parametrize("config", ["elu_cifar_11", "finetune", "table1_baselines"])
def test_the_page_on_tuning_has_the_error_of_every_trial(config):
    page = files("elu_zoo.configs").joinpath("results", "tuning.md").read_text()
    section = "".join(re.findall(rf"\n## {config}\b(.*?)(?=\n## |$)", page, re.DOTALL))
    trials = [t for t in results.read("trials.csv") if t["config"].startswith(config)]
    errors = {f"{float(t['validation_error_percent'] or 0):.1f}" for t in trials} - {"0.0"}
    assert errors and errors <= {*re.findall(r"[\d.]+", section)}
    module = importlib.import_module(f"elu_zoo.configs.{config}")
    for trial in trials:
        module.get_config(trial["config"].partition(":")[2].partition(" ")[0])


def test_rows_of_runs_are_added_once_and_in_order(tmp_path):
    rows = '{"step": 30, "train_loss": 0.75}\n{"step": 60, "train_loss": 0.5}\n'
    (tmp_path / "metrics.jsonl").write_text(rows)
    path = tmp_path / "results.csv"
    for seed, sha256 in ((1, "a"), (0, "b"), (2, "a")):
        entry = ENTRY | {"seed": seed, "sha256": sha256, "step": 60, "commit": "c"}
        new = results.row(tmp_path, entry)
        assert (new["train_loss"], new["steps"]) == (0.5, 60)
        kept = results.row(tmp_path, entry | {"kept_step": 30})
        assert (kept["train_loss"], kept["steps"]) == (0.75, 30)
        assert math.isnan(results.row(tmp_path / "lost", entry)["train_loss"])
        results.add(path, new)
    rows = results.read_file(path)
    assert [(r["seed"], r["sha256"]) for r in rows] == [("0", "b"), ("1", "a")]
    assert list(rows[0]) == results.COLUMNS
    keys = ("config", "activation", "batch_norm", "schedule", "test_error_percent")
    assert [rows[0][k] for k in keys] == ["net-ours30", "elu", "False", "ours", "2.5"]
    assert rows[0]["test_squared_error"] == ""
    assert results.read_file(tmp_path / "none.csv") == []
    newer = ENTRY | {"seed": 2, "sha256": "c", "step": 60, "commit": "c"}
    newer["metrics"] = ENTRY["metrics"] | {"test_top3_error_percent": 0.5}
    results.add(path, results.row(tmp_path, newer))
    results.add(path, results.row(tmp_path, entry | {"seed": 3, "sha256": "d"}))
    rows = results.read_file(path)
    assert [r["test_top3_error_percent"] for r in rows] == ["", "", "0.5", ""]


def test_rows_that_are_added_at_once_are_all_kept(tmp_path, monkeypatch):
    read, path = results.read_file, tmp_path / "results.csv"
    monkeypatch.setattr(results, "read_file", lambda p: (read(p), time.sleep(0.02))[0])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: results.add(path, row(seed)), range(4)))
    assert [r["seed"] for r in read(path)] == ["0", "1", "2", "3"]
