"""`reproduce` runs experiments once, and writes figures, claims and the report."""

import dataclasses
import json
import shutil
from unittest import mock

import pytest

from elu_zoo import activations, errors, results
from elu_zoo.pairs import runner, tables
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper import reproduce
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.weights import manifest

CALLED = []


def trials(plan):
    return [
        Trial("mnist_depth", "hidden_layers=2", plan.budget, activation, seed)
        for seed in plan.runs(1, 2, 3)
        for activation in ("elu", "relu")
    ]


def measure(trial, workdir, plan):
    """Has the signature of a measure, which only worker processes call."""


def draw(rows, stem):
    CALLED.append(("draw", len(rows)))
    stem.with_suffix(".png").write_text(str(len(rows)))


def summary(frame):
    return tables.markdown(["unit"], [[name] for name in frame["activation"]])


FAKE = Experiment(
    title="A fake",
    section="4",
    draw=draw,
    summary=summary,
    trials=trials,
    measure=measure,
    columns=("epoch", "loss"),
)


def compute(plan):
    CALLED.append(("compute", plan.budget))
    return [{"activation": "elu", "value": len(CALLED)}]


COMPUTED = dataclasses.replace(
    FAKE, trials=None, measure=None, compute=compute, columns=("activation", "value")
)


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """Adds the fake experiment to the table and empties the list of its calls."""
    CALLED.clear()
    monkeypatch.setitem(EXPERIMENTS, "fake", FAKE)


class Runs:
    """A replacement of `runner.run` whose runs end at once.

    `ends` has, by activation and seed, an error or the reason of a divergence; other
    runs finish.
    """

    def __init__(self):
        self.received = []
        self.ends = {}

    def __call__(self, trials, plan, measure, jobs):
        self.received.append([(t.activation, t.seed) for t in trials])
        self.arguments = measure, jobs
        for trial in trials:
            end = self.ends.get((trial.activation, trial.seed))
            if isinstance(end, Exception):
                raise end
            if end is None:
                finish(trial, trial.folder(plan))
            yield trial, end or [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.5}]


def finish(trial, workdir):
    """Writes the files of a finished run, in the folder of the run."""
    config = trial.load()
    entry = dict(manifest.published()[manifest.list_weights("mnist_mlp_8x128*")[0]])
    activation = activations.describe(trial.activation)
    entry["arguments"] = entry["arguments"] | {"activation": activation}
    entry["config"] = entry["config"] | {"name": config.name}
    entry |= {"seed": trial.seed, "epochs": config.train.epochs}
    entry["sha256"] = (trial.hash * 8)[:64]
    entry["tag"] = manifest.tag(*map(entry.get, ("model", "dataset", "arguments", "sha256")))
    entry[manifest.MEANING_HASH] = manifest.meaning_hash(entry)
    workdir.mkdir(parents=True, exist_ok=True)
    (workdir / "outcome.json").write_text(json.dumps(entry))
    row = {"epoch": 1, "step": entry["step"], "train_loss": 0.5}
    (workdir / "metrics.jsonl").write_text(json.dumps(row) + "\n")


@pytest.fixture
def runs(monkeypatch):
    replacement = Runs()
    monkeypatch.setattr(runner, "run", replacement)
    return replacement


@pytest.fixture
def go(tmp_path, runs):
    """Returns a function that runs `reproduce` and returns the lines of progress."""

    def reproduced(*names, budget="short", seeds=None, lines=None, jobs=3):
        lines = [] if lines is None else lines
        plan = Plan(budget, seeds, tmp_path / "runs")
        output = tmp_path / "out"
        reproduce.reproduce(names or ("fake",), plan, output, say=lines.append, jobs=jobs)
        return lines

    return reproduced


@pytest.fixture
def rows(tmp_path):
    """Returns a function that reads a CSV file of the output."""
    return lambda name: results.read_file(tmp_path / "out" / name)


def test_files_and_lines_of_progress_are_written(go, runs, rows, tmp_path):
    lines = go(jobs=2)
    assert runs.arguments == (measure, 2)
    out = tmp_path / "out"
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert files == {
        *("figures/fake.csv", "figures/fake.png"),
        *("results.csv", "claims.csv", "claim_tests.csv", "reproduction.md"),
    }
    cells = [(r["activation"], r["seed"], r["loss"]) for r in rows("figures/fake.csv")]
    assert sorted(cells) == [
        (name, seed, loss)
        for name in ("elu", "relu")
        for seed in ("0", "1")
        for loss in ("1.5", "2")
    ]
    assert (out / "figures/fake.png").read_text() == "8"
    assert rows("claims.csv")
    text = (out / "reproduction.md").read_text()
    assert "## A fake\n" in text and text.count("| elu |\n") == 4
    assert lines[:2] == ["fake: A fake", "fake: 4 runs, 4 to train"]
    assert lines[2:-1] == [
        f"fake: {i} of 4, mnist_depth, {name}, seed {seed}"
        for i, (seed, name) in enumerate([(0, "elu"), (0, "relu"), (1, "elu"), (1, "relu")], 1)
    ]
    assert lines[-1] == str(out / "reproduction.md")


def test_finished_runs_without_their_folders_are_not_run_again(go, runs, rows, tmp_path):
    go(seeds=1)
    shutil.rmtree(tmp_path / "runs")
    before = rows("figures/fake.csv")
    lines = go(seeds=2)
    assert runs.received == [[("elu", 0), ("relu", 0)], [("elu", 1), ("relu", 1)]]
    assert lines[1] == "fake: 4 runs, 2 to train"
    assert all(row in rows("figures/fake.csv") for row in before)
    go(seeds=2)
    assert runs.received[2:] == [[]]


def test_a_diverged_run_has_a_row_but_no_result_and_is_not_run_again(go, runs, rows):
    runs.ends["relu", 1] = "The loss is nan after step 3."
    lines = go()
    (row,) = (r for r in rows("figures/fake.csv") if r["diverged"])
    assert (row["activation"], row["seed"]) == ("relu", "1")
    assert (row["diverged"], row["loss"]) == ("The loss is nan after step 3.", "")
    label = "fake: 4 of 4, mnist_depth, relu, seed 1"
    assert lines[5] == f"{label} diverged: The loss is nan after step 3."
    stored = [(r["activation"], r["seed"]) for r in rows("results.csv")]
    assert sorted(stored) == [("elu", "0"), ("elu", "1"), ("relu", "0")]
    go()
    assert runs.received[1] == []


def test_finished_runs_are_kept_after_an_error(go, runs, rows):
    runs.ends["elu", 1] = errors.Interrupted("SIGTERM")
    with pytest.raises(errors.Interrupted):
        go()
    found = {(row["activation"], row["seed"]) for row in rows("figures/fake.csv")}
    assert found == {("elu", "0"), ("relu", "0")} and len(rows("results.csv")) == 2
    del runs.ends["elu", 1]
    go()
    assert runs.received[1] == [("elu", 1), ("relu", 1)]
    assert len(rows("figures/fake.csv")) == 8 and len(rows("results.csv")) == 4


def test_experiments_that_cannot_run_are_left_out_and_the_others_run(
    go, runs, rows, monkeypatch, tmp_path
):
    failing = mock.Mock(side_effect=errors.ResourceError("not measured"))
    for name, function in ("other", compute), ("unmeasured", failing):
        other = dataclasses.replace(COMPUTED, compute=function, title=name)
        monkeypatch.setitem(EXPERIMENTS, name, other)
    runs.ends["elu", 0] = errors.DataError("no images")
    with pytest.raises(errors.DataError, match="no images"):
        go("fake")
    lines = []
    with pytest.raises(errors.DataError, match=r"printed above: fake, unmeasured\."):
        go("fake", "other", "unmeasured", lines=lines)
    assert "fake: left out. no images" in lines
    assert rows("figures/other.csv") and not rows("figures/fake.csv")
    text = (tmp_path / "out" / "reproduction.md").read_text()
    assert "diverged: `elu-zoo-reproduce fake`" in text


def test_smoke_runs_are_not_in_the_results(go, rows):
    go(budget="smoke")
    assert len(rows("figures/fake.csv")) == 4 and rows("results.csv") == []


def test_runs_of_a_longer_budget_with_few_seeds_have_a_figure(go, rows, tmp_path):
    go(budget="short", seeds=5)
    go(budget="full", seeds=1)
    figures = tmp_path / "out/figures"
    drawn = [(figures / f"fake{end}.png").read_text() for end in ("", "_full")]
    counts = [r["budget"] for r in rows("figures/fake.csv")]
    assert drawn == [str(counts.count("short")), str(counts.count("full"))]
    go(budget="full", seeds=5)
    assert [path.name for path in figures.glob("*.png")] == ["fake.png"]


def test_a_wrong_folder_or_file_is_an_error_before_the_first_run(go, runs, tmp_path):
    row = {"budget": "full", "activation": "elu", "seed": "0", "k": "1"}
    results.write(tmp_path / "out" / "figures" / "theory.csv", list(row), [row])
    with pytest.raises(errors.DataError, match="theory.csv has other columns .* cosine"):
        go()
    shutil.rmtree(tmp_path / "out")
    results.write(tmp_path / "out" / "results.csv", list(row), [row])
    with pytest.raises(errors.DataError, match="results.csv lacks the columns .* sha256"):
        go()
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").touch()
    with pytest.raises((OSError, errors.ResourceError), match="out is no folder"):
        go()
    assert runs.received == []


@pytest.mark.parametrize("once", [False, True])
def test_an_experiment_without_runs_is_computed_each_time_or_once(go, rows, monkeypatch, once):
    computed = dataclasses.replace(COMPUTED, computed_once=once)
    monkeypatch.setitem(EXPERIMENTS, "fake", computed)
    go()
    row = {"budget": "short", "activation": "elu", "value": "1"}
    assert rows("figures/fake.csv") == [row]
    go()
    assert CALLED.count(("compute", "short")) == 2 - once
    assert rows("figures/fake.csv") == [row | {"value": "1" if once else "3"}]
    go(budget="smoke")
    assert [row["budget"] for row in rows("figures/fake.csv")] == ["short", "smoke"]
