"""Comparisons without training: numbers of trials, files, lines of the report."""

import collections
import csv
import dataclasses
import math

import pytest

from elu_zoo.compare import result, trials
from elu_zoo.compare.result import RunResult, is_tuning

WORSE = {"elu": 0.0, "relu": 1.0, "tanh": 0.0}


def error(run) -> float:
    """Makes ReLU worse, and tanh equal but for noise; best factors are 1, 2, 1/512."""
    best = {"elu": 0, "relu": 1, "tanh": -9}[run.activation]
    noise = math.sin(17 * run.seed + len(run.activation)) / 10
    from_best = 0.01 * abs(math.log2(run.factor) - best)
    return 5 + WORSE[run.activation] + noise * (not is_tuning(run)) + from_best


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_all_runs_files_and_conclusions_of_a_comparison(comparison, compare):
    world, output = compare(comparison, error), comparison.output
    assert len(world.trained) == len(set(world.trained))
    others = [run for run in world.trained if not is_tuning(run) and run.factor != 1]
    pairs = collections.Counter((run.activation, run.factor) for run in others)
    assert pairs == {("relu", 2): 5, ("tanh", 1 / 64): 5}
    assert {path.name for path in output.iterdir()} == {
        *("compare.csv", "tuning.csv", "report.md", "table.md"),
        *(f"{name}.{suffix}" for suffix in ("png", "svg")
          for name in ("errors", "errors_at_config_rate", "curves", "rates")),
    }  # fmt: skip
    assert world.messages[-1] == str(output / "report.md")
    assert len(rows(output / "compare.csv")) == 25
    chosen = {r["activation"]: r["factor"] for r in rows(output / "tuning.csv")
              if r["chosen"] == "True"}  # fmt: skip
    assert chosen == {"elu": "1", "relu": "2", "tanh": "0.015625"}
    assert "| tanh | 0.015625 (edge) |" in (output / "table.md").read_text()
    lines = (output / "report.md").read_text().splitlines()
    assert lines[4].startswith("- **relu** has a higher error than elu: difference +")
    assert "cannot be told apart from elu: " in lines[5] and lines[5].endswith("contains 0.")
    assert "The best factor of tanh is the smallest or largest" in lines[7]
    assert "after 30 of the 30 epochs of the schedule" in lines[7]


@pytest.mark.parametrize(
    ("diverges", "of_relu"),
    [
        (lambda factor: factor > 1, {1: 3, 4: 1, 0.25: 1, 0.5: 3, 2: 1}),
        (lambda factor: factor != 1, {1: 5, 4: 1, 0.25: 1, 0.5: 1, 2: 1}),
    ],
)
def test_every_activation_has_equally_many_tuning_runs(comparison, compare, diverges, of_relu):
    """Also if a run diverges, and if the best factor is at an edge."""

    def found(run):
        diverged = run.activation == "relu" and diverges(run.factor)
        return math.nan if diverged else error(run)

    tried = collections.defaultdict(collections.Counter)
    for run in filter(is_tuning, compare(comparison, found).trained):
        tried[run.activation][run.factor] += 1
    assert tried == {
        "elu": {1: 3, 4: 1, 0.25: 1, 0.5: 3, 2: 1},
        "relu": of_relu,
        "tanh": {1: 1, 4: 1, 1 / 4: 1, 1 / 16: 3, 1 / 64: 3},
    }
    assert {sum(each.values()) for each in tried.values()} == {5 + 4}


def test_a_smoke_test_says_first_that_it_shows_nothing(comparison, compare):
    comparison.config.smoke = True
    messages = compare(comparison, error).messages
    assert messages[-2].startswith("**A smoke test: ")
    assert (comparison.output / "report.md").read_text().count("A smoke test: ") == 1


@pytest.mark.parametrize(
    ("diverges", "line"),
    [
        (lambda r: r.seed == 1 and r.activation == "relu" and not is_tuning(r),
         "not tested, because 1 of its 5 runs diverged or stayed at chance."),
        (lambda r: r.seed == 1 and r.activation == "elu" and not is_tuning(r),
         "not tested, because runs of elu did not train."),
        (lambda r: is_tuning(r) and r.activation == "relu",
         "not tested, because every rate diverged."),
    ]
)  # fmt: skip
def test_the_report_states_divergences(comparison, compare, diverges, line):
    compare(comparison, lambda run: math.nan if diverges(run) else error(run))
    text = (comparison.output / "report.md").read_text()
    assert any(line in each for each in text.splitlines()[4:7])
    assert ("**elu did not train in 1 of 5 runs" in text) == ("runs of elu" in line)


@pytest.mark.parametrize(("error", "seed"), [(90.6, 0), (90.6, 10_000), (57.0, 0)])
def test_a_paired_run_at_chance_has_not_trained(comparison, monkeypatch, error, seed):
    measures = dict.fromkeys(("test_error_percent", "validation_error_percent"), error)
    entry = {"metrics": measures, "classes": list("0123456789"), "step": 1}
    monkeypatch.setattr(result, "find", lambda workdir: entry)
    rows = [{"step": 1, "epoch": 1, "train_loss": 2.0}]
    monkeypatch.setattr(result.curves, "epochs", lambda workdir: rows)
    run = trials.create(comparison, "relu", 1.0, seed)
    (found,) = result.measure(run, comparison.output, None)
    at_chance = error > 90 and not is_tuning(run)
    assert math.isnan(found.error) == ("guessing" in found.diverged) == at_chance
    assert (found.curve == ()) == at_chance


@pytest.mark.parametrize("tune", [1, 2])
def test_a_single_factor_is_the_configs_rate_without_tuning(comparison, compare, tune):
    world = compare(dataclasses.replace(comparison, tune=tune), error)
    assert any(map(is_tuning, world.trained)) == (tune > 1) and len(world.trained) >= 15
    assert (comparison.output / "rates.png").exists() == (tune > 1)
    assert bool(rows(comparison.output / "tuning.csv")) == (tune > 1)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "left"), [(7, "35 to 50"), (30, "22"), (51, "1")])
def test_an_interrupted_comparison_goes_on(comparison, compare, monkeypatch, count, left):
    whole = compare(comparison, error).trained
    done = {run: RunResult(error(run)) for run in whole[:count]}
    monkeypatch.setattr(result, "finished", lambda run, plan: done.get(run))
    world = compare(comparison, error)
    assert world.trained == whole[count:]
    assert f"To train: {left} runs" in world.messages[0]
