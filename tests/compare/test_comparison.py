"""Comparisons without training: numbers of trials, files, lines of the report."""

import collections
import dataclasses
import math
import re

import numpy as np
import pytest

from elu_zoo import errors, files, results
from elu_zoo.compare import result, trials
from elu_zoo.compare.result import RunResult, is_tuning


def error(run) -> float:
    """Makes ReLU worse, and tanh equal but for noise; best factors are 1, 2, 1/512."""
    best, worse = {"elu": (0, 0), "relu": (1, 1), "tanh": (-9, 0)}[run.activation]
    noise = math.sin(17 * run.seed + len(run.activation)) / 10
    from_best = 0.01 * abs(math.log2(run.factor) - best)
    return 5 + worse + noise * (not is_tuning(run)) + from_best


def test_all_runs_files_and_conclusions_of_a_comparison(comparison, compare):
    world, output = compare(comparison, error), comparison.output
    assert len(world.trained) == len(set(world.trained))
    others = [run for run in world.trained if not is_tuning(run) and run.factor != 1]
    pairs = collections.Counter((run.activation, run.factor) for run in others)
    assert pairs == {("relu", 2): 5, ("tanh", 1 / 64): 5}
    names = {path.name for path in output.iterdir()}
    figures = {f"{x}.{kind}" for x in ("errors", "curves", "rates") for kind in ("png", "svg")}
    assert names == {"compare.csv", "tuning.csv", "report.md", *figures}
    assert world.messages[-1] == str(output / "report.md")
    assert len(results.read_file(output / "compare.csv")) == 25
    chosen = {r["activation"]: r["factor"] for r in results.read_file(output / "tuning.csv")
              if r["chosen"] == "True"}  # fmt: skip
    assert chosen == {"elu": "1", "relu": "2", "tanh": "0.015625"}
    lines = (output / "report.md").read_text().splitlines()
    assert "on these test images of mnist_5k, after 30 epochs (of the schedule's 30)" in lines[2]
    assert "cannot be told apart from elu: " in lines[4] and lines[4].endswith("contains 0.")
    assert lines[5].startswith("- **relu** has a higher error than elu: difference +")
    assert "sign may" not in lines[5]
    assert "The best factor of tanh is the smallest or largest" in lines[7]
    assert "| tanh | 0.015625 (edge) |" in "".join(lines)
    assert "**The runs were not all made alike, which may change errors:** A; B" in lines
    ranks = [line.split(" | ")[:2] for line in lines if line[2:3].isdigit()]
    assert [rank[2:] for rank, _ in ranks] == list("123123")


@pytest.mark.parametrize("diverges", [lambda factor: factor > 1, lambda factor: factor != 1])
def test_factors_and_further_seeds_are_tried_also_if_runs_diverge(comparison, compare, diverges):
    def found(run):
        return math.nan if run.activation == "relu" and diverges(run.factor) else error(run)

    runs = filter(is_tuning, compare(comparison, found).trained)
    tried = collections.Counter(run.factor for run in runs if run.activation == "relu")
    half = 1 if diverges(0.5) else 3
    assert tried == {1: 6 - half, 4: 1, 0.25: 1, 0.5: half, 2: 1}
    marks = re.findall(r'<use [^>]*y="([0-9.]+)"', (comparison.output / "rates.svg").read_text())
    assert marks.count(min(marks, key=float)) == (4 if half == 1 else 2)  # crosses at the top


@pytest.mark.parametrize(
    ("diverges", "line"),
    [
        (lambda r: r.seed == 1 and r.activation == "relu" and not is_tuning(r),
         "not tested, because 1 of its 5 runs diverged or stayed at chance."),
        pytest.param(lambda r: r.seed == 1 and r.activation == "elu" and not is_tuning(r),
                     "not tested, because runs of elu did not train.", marks=pytest.mark.slow),
        pytest.param(lambda r: is_tuning(r) and r.activation == "relu",
                     "not tested, because every rate diverged.", marks=pytest.mark.slow),
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
    entry = {"metrics": measures, "classes": list("0123456789"), "step": 1, "commit": "c"}
    entry |= {"backend": "jax", "hardware": "CPU", "versions": {"jax": "0.8"}, "images": "a"}
    monkeypatch.setattr(result, "find", lambda workdir: entry)
    monkeypatch.setattr(result.curves, "epochs", lambda _: [{"epoch": 1, "train_loss": 2.0}])
    monkeypatch.setattr(result.images, "errors", lambda *arguments: arguments[-2:])
    run = trials.create(comparison, "relu", 1.0, seed)
    (found,) = result.measure(run, comparison.output, None)
    at_chance = error > 90 and not is_tuning(run)
    failed = {math.isnan(found.error), "guessing" in found.diverged, not found.curve}
    assert failed == {at_chance}
    assert found.of_images == (("test", "error_percent") if error == 57 else None)
    assert found.made == "jax on CPU (commit c, jax 0.8)"
    with pytest.raises(errors.UsageError, match="images were changed"):
        result.measure(dataclasses.replace(run, images="b"), comparison.output, None)


@pytest.mark.parametrize("tune", [1, 2])
def test_a_single_factor_is_the_configs_rate_without_tuning(comparison, compare, tune):
    comparison.config.smoke = tune == 1  # says first that it shows nothing
    for name in "rates.png", "report.md":
        files.write_bytes(comparison.output / name, b"of an earlier comparison")
    world = compare(dataclasses.replace(comparison, tune=tune), error)
    assert "another command" in world.messages[0]
    assert (comparison.output / "report.md").read_text().count("A smoke test: ") == (tune == 1)
    assert any(map(is_tuning, world.trained)) == (tune > 1) and len(world.trained) >= 15
    assert (comparison.output / "rates.png").exists() == (tune > 1)
    assert bool(results.read_file(comparison.output / "tuning.csv")) == (tune > 1)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "left"), [(7, "35 to 49"), (30, "21"), (50, "1")])
def test_an_interrupted_comparison_goes_on(comparison, compare, monkeypatch, count, left):
    whole = compare(comparison, error).trained
    done = {r: RunResult(error(r), of_images=np.full(10, error(r))) for r in whole[:count]}
    monkeypatch.setattr(result, "finished", lambda run, plan: done.get(run))
    world = compare(comparison, error)
    assert world.trained == whole[count:]
    assert f"To train: {left} runs" in world.messages[0]
