"""Comparisons without training: numbers of trials, files, lines of the report."""

import collections
import csv
import dataclasses
import json
import math
import types

import numpy as np
import pytest

from elu_zoo import registry
from elu_zoo.activations import table
from elu_zoo.compare import comparison, spec
from elu_zoo.compare.question import TUNING_SEED, with_images
from elu_zoo.pairs.spec import Plan

WORSE = {"elu": 0.0, "relu": 1.0, "tanh": 0.0}


def error(run) -> float:
    """Makes ReLU worse, and tanh equal but for noise; best factors are 1, 2, 1/512."""
    best = {"elu": 0, "relu": 1, "tanh": -9}[run.activation]
    noise = math.sin(17 * run.seed + len(run.activation)) / 10
    from_best = 0.01 * abs(math.log2(run.factor) - best)
    return 5 + WORSE[run.activation] + noise * (not run.tuning) + from_best


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize(
    ("diverges", "trials"),
    [
        (lambda factor: factor > 1, {1: 3, 4: 1, 0.25: 1, 0.5: 3, 2: 1}),
        (lambda factor: factor != 1, {1: 5, 4: 1, 0.25: 1, 0.5: 1, 2: 1}),
    ],
)
def test_every_activation_has_equally_many_trials(question, compare, diverges, trials):
    """Also if a run diverges, and if the best factor is at an edge."""

    def found(run):
        diverged = run.activation == "relu" and diverges(run.factor)
        return math.nan if diverged else error(run)

    trained = compare(question, found).trained
    tuned = collections.Counter(run.activation for run in trained if run.tuning)
    assert tuned == dict.fromkeys(question.activations, 5 + 4)
    tried = {name: collections.Counter() for name in question.activations}
    for run in trained:
        if run.tuning:
            assert run.seed >= TUNING_SEED
            tried[run.activation][run.factor] += 1
    assert tried == {
        "elu": {1: 3, 4: 1, 0.25: 1, 0.5: 3, 2: 1},
        "relu": trials,
        "tanh": {1: 1, 4: 1, 1 / 4: 1, 1 / 16: 3, 1 / 64: 3},
    }
    at_config = [r for r in trained if not r.tuning and r.factor == 1]
    of_each = collections.Counter(run.activation for run in at_config)
    assert of_each == dict.fromkeys(question.activations, question.seeds)


def test_runs_at_the_configs_rate_are_trained_once(question, compare):
    trained = compare(question, error).trained
    assert len(trained) == len(set(trained))
    tuned = [run for run in trained if not run.tuning and run.factor != 1]
    assert {(r.activation, r.factor) for r in tuned} == {("relu", 2), ("tanh", 1 / 64)}
    assert len(tuned) == 2 * question.seeds


def test_the_output_has_all_files_and_the_chosen_factors(question, compare):
    messages = compare(question, error).messages
    output = question.output
    assert {path.name for path in output.iterdir()} == {
        *("compare.csv", "tuning.csv", "report.md", "table.md"),
        *(f"{name}.{suffix}" for suffix in ("png", "svg")
          for name in ("errors", "errors_at_config_rate", "curves", "rates")),
    }  # fmt: skip
    assert messages[-1] == str(output / "report.md")
    assert len(rows(output / "compare.csv")) == 25
    trials = rows(output / "tuning.csv")
    chosen = {r["activation"]: r["factor"] for r in trials if r["chosen"] == "True"}
    assert chosen == {"elu": "1", "relu": "2", "tanh": "0.015625"}
    assert "| tanh | 0.015625 (edge) |" in (output / "table.md").read_text()


def test_the_report_begins_with_its_conclusions(question, compare):
    compare(question, error)
    lines = (question.output / "report.md").read_text().splitlines()
    edge = "(best rate at the edge of those tried)"
    assert lines[4].startswith("- **relu** has a higher error than elu: difference +")
    assert lines[5].startswith(f"- **tanh** {edge} cannot be told apart from elu: ")
    assert lines[5].endswith("contains 0.")
    assert "The best factor of tanh is the smallest or largest" in lines[7]
    assert "after 30 of the 30 epochs of the schedule" in lines[7]


def test_a_smoke_test_says_first_that_it_shows_nothing(question, compare):
    question.config.smoke = True
    messages = compare(question, error).messages
    assert messages[-2].startswith("**A smoke test: ")
    assert (question.output / "report.md").read_text().count("A smoke test: ") == 1


@pytest.mark.parametrize(
    ("diverges", "line"),
    [
        (lambda r: r.seed == 1 and r.activation == "relu" and not r.tuning,
         "not tested, because 1 of its 5 runs diverged or stayed at chance."),
        (lambda r: r.seed == 1 and r.activation == "elu" and not r.tuning,
         "not tested, because runs of elu did not train."),
        (lambda r: r.tuning and r.activation == "relu",
         "not tested, because every rate diverged."),
    ]
)  # fmt: skip
def test_the_report_states_divergences(question, compare, diverges, line):
    compare(question, lambda run: math.nan if diverges(run) else error(run))
    text = (question.output / "report.md").read_text()
    assert any(line in each for each in text.splitlines()[4:7])
    assert ("**elu did not train in 1 of 5 runs" in text) == ("runs of elu" in line)
    assert "not trained" in text


@pytest.mark.parametrize(("error", "seed"), [(90.6, 0), (90.6, 10_000), (57.0, 0)])
def test_a_paired_run_at_chance_has_not_trained(question, monkeypatch, error, seed):
    measures = dict.fromkeys(("test_error_percent", "validation_error_percent"), error)
    entry = {"metrics": measures, "classes": list("0123456789"), "step": 1}
    monkeypatch.setattr(spec.result, "find", lambda workdir: entry)
    rows = [{"step": 1, "epoch": 1, "train_loss": 2.0}]
    monkeypatch.setattr(spec.curves, "epochs", lambda workdir: rows)
    run = spec.Spec(question, "relu", 1.0, seed)
    (found,) = spec.measure(run, question.output, None)
    at_chance = error > 90 and not run.tuning
    assert math.isnan(found.error) == ("guessing" in found.diverged) == at_chance
    assert (found.curve == ()) == at_chance


def test_few_pairs_decide_nothing(question, compare):
    compare(dataclasses.replace(question, seeds=4), error)
    lines = (question.output / "report.md").read_text().splitlines()[4:6]
    assert ["fewer than 5 pairs" in line for line in lines] == [True, True]


def test_without_tuning_all_runs_are_at_the_configs_rate(question, compare):
    world = compare(dataclasses.replace(question, tune=1), error)
    assert len(world.trained) == 15 and not any(run.tuning for run in world.trained)
    assert not (question.output / "rates.png").exists()
    assert not rows(question.output / "tuning.csv")


def test_finished_runs_are_not_repeated(question, compare):
    plan = Plan("full", None, question.output / "runs")
    done = comparison.planned(question)[:3]
    for run in done:
        folder = run.folder(plan)
        folder.mkdir(parents=True)
        (folder / "diverged.json").write_text(json.dumps({"reason": "inf"}))
    world = compare(question, error)
    assert not set(done) & set(world.trained)
    assert "To train: 39 to 54 runs, 2 at a time." in world.messages[0]


@pytest.mark.parametrize("count", [7, 20, 30, 51])
def test_an_interrupted_comparison_goes_on(question, compare, monkeypatch, count):
    whole = compare(question, error).trained
    done = {run: spec.Measured(error(run)) for run in whole[:count]}
    monkeypatch.setattr(spec, "finished", lambda run, plan: done.get(run))
    world = compare(question, error)
    assert world.trained == whole[count:]
    left = {7: "35 to 50", 20: "22 to 37", 30: "22", 51: "1"}[count]
    assert f"To train: {left} runs" in world.messages[0]


def test_runs_that_differ_in_a_field_have_different_folders(question, tmp_path):
    plan = Plan("full", None, tmp_path)
    run = spec.Spec(question, "elu", 1.0, 0)
    others = [
        dataclasses.replace(run, code="1"),
        dataclasses.replace(run, seed=1),
        dataclasses.replace(run, factor=2.0),
        dataclasses.replace(run, activation="relu"),
        dataclasses.replace(run, question=dataclasses.replace(question, images="a-1")),
    ]
    assert len({each.folder(plan) for each in (run, *others)}) == 6


def test_a_question_has_the_hash_of_a_users_images(question, tmp_path):
    assert with_images(question) == question
    path, found = tmp_path / "own.npz", []
    question.config.data.name = str(path)
    for shade in (0, 0, 1):
        images = np.zeros((20, 28, 28, 1), "uint8")
        images[:, 0, 0, 0], images[:, 1, 1, 0] = np.arange(20), shade
        np.savez(path, x_train=images, y_train=np.arange(20) % 2)
        found.append(with_images(question).images)
    assert found[0] == found[1] != found[2]


def test_runs_depend_on_a_users_file_with_their_code(question, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "_table", dict(table._table))
    path = tmp_path / "compared_activations.py"
    path.write_text("import keras\nfrom elu_zoo import register_activation\n"
                    "register_activation('wave', keras.ops.sin)\n")  # fmt: skip
    question = dataclasses.replace(question, module=str(path))
    monkeypatch.syspath_prepend(tmp_path)
    before = spec.code_hash(question, "wave")
    path.write_text(path.read_text().replace("sin", "cos"))
    assert before != spec.code_hash(question, "wave") != ""
    assert spec.code_hash(question, "elu") == ""
    network = types.SimpleNamespace(builder=rows)
    monkeypatch.setattr(registry, "entry", lambda name: network)
    assert spec.code_hash(question, "elu") == spec.code_hash(question, "wave")
