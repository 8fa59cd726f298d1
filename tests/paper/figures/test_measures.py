"""The measures of each experiment are computed from a synthetic run folder."""

import dataclasses
import json
import math
import types
from pathlib import Path

import keras
import numpy as np
import pytest

from elu_zoo import results, zoo
from elu_zoo.pairs.spec import Plan
from elu_zoo.pairs.store import Points
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.figures import bias_shift
from elu_zoo.paper.theory.bias_shift import BiasShift
from elu_zoo.training.record import observers
from elu_zoo.training.record.activation_statistics import UnitStatistics
from elu_zoo.weights import manifest

PLAN = Plan("smoke", 1, Path("runs"), imagenet="pictures")
EPOCHS, STEPS = 3, 30
LOSSES = np.linspace(3, 0.05, STEPS)
MEDIANS = np.array([[1.0, 2, 3], [5, 5, 5], [6, 9, 5], [8, 10, 5]])  # a row per epoch
TEST = {"test_loss": 0.5, "test_error_percent": 2.25, "test_top5_error_percent": 1.5}


@pytest.fixture
def workdir(tmp_path):
    """Returns the folder of a run of 3 epochs with 10 iterations, with all records."""
    entry = dict(manifest.published()[manifest.list_weights("mnist_mlp_8x128*")[0]])
    entry["metrics"] = entry["metrics"] | TEST
    (tmp_path / "outcome.json").write_text(json.dumps(entry))
    validation = {"validation_loss": 0.6, "validation_error_percent": 3}
    validation |= {"validation_top5_error_percent": 2}
    lines(tmp_path / "metrics.jsonl", [
        validation
        | {"epoch": i, "step": 10 * i, "train_loss": float(LOSSES[10 * i - 1])}
        for i in range(1, EPOCHS + 1)
    ])  # fmt: skip
    LOSSES.astype("<f4").tofile(tmp_path / observers.Losses.name)
    lines(tmp_path / observers.Measures.name, [
        {"step": step, "test_loss": 1.0, "test_error_percent": 9.0,
         "test_squared_error": 20.0 - step / 2, "measured_squared_error": 1.0}
        for step in (12, 24, 30)
    ])  # fmt: skip
    for epoch, medians in enumerate(MEDIANS):
        layers = {"act_dense1": medians, "act_dense2": -medians}
        means = {name: values + 0.5 for name, values in layers.items()}
        path = tmp_path / observers.Activations.name / f"epoch-{epoch:05d}.npz"
        path.parent.mkdir(exist_ok=True)
        UnitStatistics(means, layers).save(path)
    return tmp_path


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def measured(name, workdir):
    """Returns the rows of a run, as text, after writing and reading the CSV file."""
    experiment = EXPERIMENTS[name]
    trial = experiment.trials(PLAN)[0]
    points = Points(workdir / "points.csv", experiment.columns)
    points.put(trial, experiment.measure(trial, workdir, PLAN))
    rows = results.read_file(workdir / "points.csv")
    filled = {c for row in rows for c in experiment.columns if row[c]}
    assert filled == set(experiment.columns)
    return rows


def column(rows, name):
    return [row[name] for row in rows]


def test_figure_2_has_losses_and_median_activations(workdir):
    rows = measured("fig2", workdir)
    assert column(rows, "epoch") == ["0", "1", "2", "3"]
    losses = [f"{LOSSES[i]:.6g}" for i in (9, 19, 29)]
    assert column(rows, "train_loss") == ["", *losses]
    # The median over the units of both layers, each with its mean activation.
    expected = [np.median(np.array([*m, *-m]) + 0.5) for m in MEDIANS]
    assert column(rows, "median_activation") == [f"{x:.6g}" for x in expected]
    assert column(rows, "test_error_percent") == ["", "", "", "2.25"]


def test_figure_3_has_squared_errors_by_epoch(workdir):
    examples = EXPERIMENTS["fig3"].trials(PLAN)[0].load().data.train_examples
    epoch = examples // 64
    rows = measured("fig3", workdir)
    found = {row["step"]: row["test_squared_error"] for row in rows}
    assert {k: v for k, v in found.items() if v} == {"12": "14", "24": "8", "30": "5"}
    for row in rows:
        assert float(row["epoch"]) == pytest.approx(int(row["step"]) / epoch, rel=1e-5)


@pytest.mark.parametrize("name", ["fig4", "fig5"])
def test_figures_4_and_5_have_mean_losses_and_test_errors(workdir, name):
    rows = measured(name, workdir)
    assert column(rows, "step") == [str(step) for step in range(2, 31, 2)]
    for row in rows:
        step = int(row["step"])
        expected = LOSSES[step - 2 : step].mean()
        assert float(row["train_loss"]) == pytest.approx(expected, rel=1e-5)
    tested = [(row["step"], row["test_error_percent"]) for row in rows]
    # The last value is of the final weights.
    measured_at = [("12", "9"), ("24", "9"), ("30", "2.25")]
    assert [(step, error) for step, error in tested if error] == measured_at
    # The loss of the last epoch equals the loss of the run in results.csv.
    assert set(column(rows[:-1], "last_epoch_loss")) == {""}
    assert rows[-1]["last_epoch_loss"] == f"{LOSSES[-1]:.6g}"


def test_figure_6_has_top5_errors(workdir):
    rows = measured("fig6", workdir)
    assert column(rows, "step") == ["10", "20", "30"]
    assert column(rows, "validation_top5_error_percent") == ["2"] * 3


def test_figure_7_has_variances_over_epochs(workdir):
    # The variances are over epochs, without the initial weights.
    rows = measured("fig7", workdir)
    assert column(rows, "layer") == ["dense1", "dense2"]
    for row in rows:
        # The changes of the three units are 1 and 2, 4 and 1, 0 and 0.
        assert row["variance_of_changes"] == "0.25 2.25 0"
        assert row["variance_of_medians"] == "1.56 4.67 0"
        assert row["test_error_percent"] == "2.25"


def test_depth_has_the_epochs_to_a_low_loss(workdir):
    (row,) = measured("depth", workdir)
    assert row["hidden_layers"] == "2" and row["train_loss"] == "0.05"
    assert (row["test_error_percent"], row["epochs_to_loss"]) == ("2.25", "3")
    lines(workdir / "metrics.jsonl", [{"epoch": 1, "train_loss": 0.2}])
    (row,) = EXPERIMENTS["depth"].measure(EXPERIMENTS["depth"].trials(PLAN)[0], workdir, PLAN)
    assert row["epochs_to_loss"] == ""


@pytest.fixture
def network(workdir, monkeypatch):
    """Returns a small network, and writes snapshots of three epochs."""
    model = zoo.get_model("mnist_mlp_8x128", width=0.0625)

    def get_model(name, **arguments):
        assert name == "mnist_mlp_8x128"
        assert arguments["activation"] == entry["arguments"]["activation"]
        return model

    entry = json.loads((workdir / "outcome.json").read_text())
    monkeypatch.setattr(bias_shift.zoo, "get_model", get_model)
    folder = workdir / observers.Snapshots.name
    folder.mkdir()
    for epoch, scale in (0, 1), (1, 1), (10, 1.5):
        weights = [scale * array for array in model.get_weights()]
        np.savez(folder / f"epoch-{epoch:05d}.npz", *weights)
    images = np.random.default_rng(0).integers(0, 256, (60, 28, 28, 1), "uint8")
    labels = np.arange(60, dtype="int32") % 10
    split = types.SimpleNamespace(images=images, labels=labels)

    class Images:
        def first(self, count):
            return split

    data = types.SimpleNamespace(train=Images(), test=Images())
    monkeypatch.setattr(bias_shift.load, "load", lambda *_: data)
    return model


@pytest.mark.slow
def test_theory_has_a_row_for_each_snapshot_and_damping(network, workdir):
    rows = measured("theory", workdir)
    dampings = ["0.001", "0.01", "0.1"]
    assert column(rows, "epoch") == [e for e in ("0", "1", "10") for _ in dampings]
    assert column(rows, "damping") == dampings * 3
    assert column(rows[:6], "error_at_noise_0") == [""] * 6
    first, equal, other = ({**row, "epoch": ""} for row in (rows[0], rows[3], rows[6]))
    assert first == equal
    damped = {"k", "correction", "uncorrected_shift", "cosine"}
    for name in damped | {"weighted_mean_length", "effective_draws", "positive_share_5"}:
        assert (first[name] != rows[1][name]) == (name in damped), name
        assert first[name] != other[name]
    hidden = [layer for layer in network.layers if layer.name.startswith("dense")]
    inputs = keras.Model(network.input, [layer.input for layer in hidden[1:]])
    values = inputs(bias_shift.load.load().train.first(60).images)
    lengths = [np.linalg.norm(np.mean(each, axis=0)) for each in values]
    assert float(other["mean_length"]) == pytest.approx(np.median(lengths), rel=1e-4)


def test_theory_has_medians_of_sizes_over_the_units_of_all_layers():
    draws, names = np.random.default_rng(0), [x.name for x in dataclasses.fields(BiasShift)]
    arrays = [dict(zip(names, draws.normal(0.3, 1, (len(names), n)), strict=True)) for n in (5, 7)]
    arrays[0]["k"][2] = np.nan  # a dead unit
    values = {name: np.concatenate([layer[name] for layer in arrays]) for name in names}
    expected = {name: np.median(x[np.isfinite(x)]) for name, x in values.items()}
    expected |= {name: np.mean(x) for name, x in values.items() if "share" in name}
    expected["correction"] = np.median(abs(values["shift"] / values["uncorrected_shift"] - 1))
    expected["uncorrected_shift"] = np.median(abs(values["uncorrected_shift"]))
    found = bias_shift._medians([BiasShift(**layer) for layer in arrays])
    assert found == pytest.approx({name: expected[name] for name in found})


def test_errors_are_of_images_under_noise_of_each_deviation():
    # The net says 1 for a pixel above 130 and else 0, and the pixels have 100 and class 0.
    images, labels = np.full((20_000, 1, 1, 1), 100, "uint8"), np.zeros(20_000, "int32")
    split = types.SimpleNamespace(images=images, labels=labels)
    found = bias_shift._errors_under_noise(
        lambda x: x.reshape(-1, 1) * [0, 1.0] + [130.5, 0], split
    )
    assert found.pop("error_at_noise_0") == 0
    for deviation in 10, 20, 30, 40, 60:
        expected = 50 * math.erfc(30.5 / deviation / 2**0.5)
        assert found.pop(f"error_at_noise_{deviation}") == pytest.approx(expected, rel=0.1, abs=0.1)
    assert not found


def test_gradient_norms_equal_backpropagation(network, workdir):
    rows = measured("gradients", workdir)
    assert column(rows, "hidden_layer") == [*"12345678"] * 3
    *hidden, (last, bias) = zip(*[iter(map(np.float64, network.get_weights()))] * 2, strict=True)
    split = bias_shift.load.load().train.first(60)
    x, slopes = split.images.reshape(60, -1) / 255, []
    for kernel, shift in hidden:  # these are the weights of the last snapshot
        net = x @ kernel + shift
        x, slope = np.where(net > 0, net, np.expm1(net)), np.where(net > 0, 1, np.exp(net))
        slopes.append(slope)
    odds = np.exp(x @ last + bias)
    back = (odds / odds.sum(axis=1, keepdims=True) - np.eye(10)[split.labels]) @ last.T
    for row, slope, (kernel, _) in zip(rows[:-9:-1], slopes[::-1], hidden[::-1], strict=True):
        norm = np.sqrt(((back := back * slope) ** 2).sum(axis=1).mean())
        assert float(row["gradient_norm"]) == pytest.approx(norm, rel=1e-4)
        back = back @ kernel.T
