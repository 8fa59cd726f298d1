"""Records of observed runs, compared with NumPy. Observing does not change a run."""

import dataclasses
import json
import signal

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, zoo
from elu_zoo.configs import quickstart
from elu_zoo.data import dataset, load
from elu_zoo.training.record import observers, outputs
from elu_zoo.training.record.observers import Activations, Losses, Measures, Snapshots


def random_data():
    """Returns random images in a data set named mnist_5k, which configs accept."""
    rng = np.random.default_rng(0)
    splits = [
        dataset.Split(rng.integers(0, 256, (n, 6, 6, 1), "uint8"), rng.integers(0, 10, n, "int32"))
        for n in (96, 20, 40)
    ]
    return dataset.ImageData("mnist_5k", *splits, tuple("0123456789"), "", "terms", "mnist_5k")


# Three epochs of six iterations. Only the last iteration has a checkpoint and a record.
DATA, EPOCH, TOTAL = random_data(), 6, 18
HIDDEN, WEIGHTS = 2, 6  # layers and arrays of the network
ENTRIES = {
    "model.width": 0.1,
    "train.batch_size": 16,
    "train.epochs": 3,
    "train.momentum": 0.9,
    "train.learning_rates": (0.02,),
    "train.checkpoint_every": 7,
}
OFTEN = {"train.checkpoint_every": 5, "train.checkpoints_kept": 9}
OBSERVERS = Losses(), Measures(5, 30), Activations(50), Snapshots((0, 2, 3, 9))
TESTED = [5, 10, 15, 18]


@pytest.fixture(autouse=True, scope="module")
def images():
    """Replaces every data set by DATA."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "load", lambda *_: DATA)
        yield


def get_config(entries=()):
    config = quickstart.get_config("smoke=True")
    with config.unlocked():
        config.model.hidden_layers = HIDDEN
    config.update_from_flattened_dict({**ENTRIES, **dict(entries)})
    return config


def train(config, workdir, observers=(), **arguments):
    arguments = {"compile": "off", **arguments}
    return elu_zoo.training.train(config, workdir, observers=observers, **arguments)


def read_records(workdir):
    """Returns {relative path: content in bytes} of the records of a run."""
    found = [workdir / "metrics.jsonl"]
    for name in (each.name for each in OBSERVERS):
        found += (workdir / name).glob("*") if (workdir / name).is_dir() else [workdir / name]
    return {str(p.relative_to(workdir)): p.read_bytes() for p in found if p.exists()}


@pytest.fixture(scope="module")
def unobserved(tmp_path_factory):
    """Folder and entry of an unobserved run with all checkpoints kept."""
    workdir = tmp_path_factory.mktemp("unobserved") / "run"
    return workdir, train(get_config(OFTEN), workdir, steps_per_call=4)


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Folder and entry of an observed run."""
    workdir = tmp_path_factory.mktemp("observed") / "run"
    return workdir, train(get_config(), workdir, OBSERVERS)


def load_model(workdir, weights):
    """Returns the float32 network of a finished run with other weights."""
    entry = json.loads((workdir / "outcome.json").read_text())
    model = elu_zoo.get_model(entry["model"], weights=workdir)
    model.set_weights(weights)
    return model


def measure(model, split):
    """Returns the loss and the error in percent, computed by NumPy."""
    logits = model.predict(split.images, verbose=0).astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    wrong = p.argmax(axis=1) != split.labels
    loss = -np.log(p[np.arange(len(split)), split.labels]).mean()
    return {"loss": loss, "error_percent": 100 * wrong.mean()}


def assert_statistics(path, model, images):
    """Compares a file of `Activations` with means and medians computed by NumPy."""
    layers = [x for x in model.layers if x.name.startswith("act_")]
    outputs = keras.Model(model.inputs, [x.output for x in layers]).predict(images, verbose=0)
    with np.load(path) as arrays:
        for layer, values in zip(layers, outputs, strict=True):
            values = np.float32(values).reshape(-1, values.shape[-1])
            for kind, function in (("mean", np.mean), ("median", np.median)):
                array = arrays[f"{kind}/{layer.name}"]
                np.testing.assert_allclose(array, function(values, 0), 1e-5, 1e-6)
        assert len(arrays.files) == 2 * len(layers) > 0


def read_checkpoint(workdir, step, count):
    """Returns the first arrays of a checkpoint, which are the weights of the model."""
    with np.load(workdir / "checkpoints" / f"step-{step:09d}.npz") as arrays:
        return list(arrays.values())[:count]


def test_an_observed_run_has_the_results_of_an_unobserved_run(unobserved, observed):
    assert observed[1]["sha256"] == unobserved[1]["sha256"]
    assert observed[1]["metrics"] == unobserved[1]["metrics"]
    records, expected = read_records(observed[0]), read_records(unobserved[0])
    assert expected == {"metrics.jsonl": records["metrics.jsonl"]}


def test_losses_are_recorded_for_each_iteration(observed, rows):
    losses = observers.read_losses(observed[0])
    assert losses.dtype == np.float32 and len(set(losses.tolist())) == len(losses) == TOTAL
    epochs = [sum(part.tolist()) / EPOCH for part in losses.reshape(-1, EPOCH)]
    assert epochs == [row["train_loss"] for row in rows(observed[0] / "metrics.jsonl")]


def test_rows_measure_the_weights_of_their_iteration(unobserved, observed):
    """The unobserved run has a checkpoint at each iteration with a row."""
    rows = observers.read_rows(observed[0])
    assert [row["step"] for row in rows] == TESTED
    parts = {"test": DATA.test, "measured": DATA.train.first(30)}
    for row in rows:
        model = load_model(observed[0], read_checkpoint(unobserved[0], row["step"], WEIGHTS))
        expected = {"step": row["step"]}
        for name, split in parts.items():
            for key, value in measure(model, split).items():
                expected[f"{name}_{key}"] = pytest.approx(value, 1e-5)
        assert row == expected
    assert len({row["test_loss"] for row in rows}) == len(rows)


def test_snapshots_are_the_unrounded_weights_of_their_epochs(unobserved, observed):
    snapshots = observers.read_snapshots(observed[0])
    assert list(snapshots) == [0, 2, 3]
    arguments = {"width": 0.1, "seed": 0, "input_shape": (6, 6, 1), "preprocessing": False}
    initial = elu_zoo.get_model("mnist_mlp_8x128", hidden_layers=HIDDEN, **arguments)
    last = read_checkpoint(unobserved[0], TOTAL, WEIGHTS)
    for i, (first, weights) in enumerate(zip(snapshots[0], snapshots[3], strict=True)):
        assert weights.dtype == first.dtype == np.float32
        np.testing.assert_array_equal(first, np.asarray(initial.weights[i]))
        np.testing.assert_array_equal(weights, last[i])
    assert any((a != b).any() for a, b in zip(snapshots[2], snapshots[3], strict=True))


def test_activation_statistics_are_recorded_for_each_epoch(observed):
    assert list(observers.read_activations(observed[0])) == [0, 1, 2, 3]
    for epoch, weights in observers.read_snapshots(observed[0]).items():
        path = observed[0] / "activations" / f"epoch-{epoch:05d}.npz"
        model = load_model(observed[0], weights)
        assert_statistics(path, model, DATA.train.images[:50])


@pytest.mark.parametrize(
    ("observer", "arguments"), [(Measures, (0,)), (Measures, (5, -1)), (Activations, (-2,))]
)
def test_wrong_values_are_refused(observer, arguments):
    with pytest.raises(errors.UsageError, match="Received"):
        observer(*arguments)


class OnDisk:
    """A split whose images stay on the disk."""

    is_encoded = True

    def __len__(self):
        return 96


ON_DISK = dataclasses.replace(DATA, train=OnDisk())


@pytest.mark.parametrize(
    ("observer", "data", "word"),
    [
        (Activations(97), DATA, "At most 96"),
        (Measures(5, 97), DATA, "At most 96"),
        (Activations(), ON_DISK, "At most 0"),
        (Measures(5, 9), ON_DISK, "At most 0"),
    ],
)
def test_observers_that_do_not_fit_the_data_are_refused_before_any_work(
    tmp_path, monkeypatch, observer, data, word
):
    monkeypatch.setattr(load, "load", lambda *_: data)
    monkeypatch.setattr(zoo, "get_model", lambda *_: pytest.fail("a model"))
    with pytest.raises(errors.UsageError, match=word):
        train(get_config(), tmp_path / "run", [observer])
    assert not (tmp_path / "run").exists()


def test_a_run_on_several_machines_cannot_be_observed():
    outputs.check_observers([], DATA, machines=2)
    with pytest.raises(errors.UsageError, match="one machine"):
        outputs.check_observers([Losses()], DATA, machines=2)


def test_a_finished_run_without_the_records_is_refused(observed, unobserved):
    assert train(get_config(), observed[0], OBSERVERS)["tag"] == observed[1]["tag"]
    (unobserved[0] / "test.jsonl").touch()
    with pytest.raises(errors.DataError, match="lacks losses.float32, activations, snapshots"):
        train(get_config(OFTEN), unobserved[0], OBSERVERS)


@pytest.fixture
def check_equal(observed):
    """A function that resumes a stopped run and compares it with `observed`."""

    def check(workdir):
        resumed = train(get_config(), workdir, OBSERVERS)
        assert resumed["sha256"] == observed[1]["sha256"]
        assert read_records(workdir) == read_records(observed[0])

    return check


# When a row of measures is due; at the end of an epoch, and again; after the last iteration.
@pytest.mark.parametrize("stops", [[5], [6, 3], pytest.param([18], marks=pytest.mark.slow)])
def test_records_of_a_stopped_run_equal_those_of_a_run_without_stops(
    tmp_path, stop_after, check_equal, stops
):
    for iterations in stops:  # since the start or the previous stop
        stop_after(iterations, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted):
            train(get_config(), tmp_path, OBSERVERS, steps_per_call=1)
    assert observers.read_losses(tmp_path).shape == (sum(stops),)
    check_equal(tmp_path)


def test_records_after_the_restored_checkpoint_of_a_killed_run_are_cut(
    tmp_path, stop_after, check_equal
):
    stop_after(14, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(get_config(), tmp_path, OBSERVERS, steps_per_call=1)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000007.npz"]
    assert [row["step"] for row in observers.read_rows(tmp_path)] == [5, 10]
    assert observers.read_losses(tmp_path).shape == (12,)  # read one call late
    with (tmp_path / "losses.float32").open("ab") as file:
        file.write(b"\x00\x01")
    with (tmp_path / "test.jsonl").open("a") as file:
        file.write('{"step": 1')

    stop_after(1, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(get_config(), tmp_path, OBSERVERS, steps_per_call=1)
    assert [row["step"] for row in observers.read_rows(tmp_path)] == [5]
    assert observers.read_losses(tmp_path).shape == (7,)
    check_equal(tmp_path)


def test_a_longer_run_keeps_the_row_of_the_old_end(tmp_path):
    content = '{"step": 5}\n{"step": 7}\n'
    (tmp_path / "test.jsonl").write_text(content + '{"step": 10}\n')
    Measures(5).resume(tmp_path / "test.jsonl", 7)
    assert (tmp_path / "test.jsonl").read_text() == content


def test_a_checkpoint_without_its_records_is_refused(tmp_path, stop_after):
    stop_after(9, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(get_config(), tmp_path, steps_per_call=1)
    with pytest.raises(errors.DataError, match="float32, test.jsonl, activations, snapshots"):
        train(get_config(), tmp_path, OBSERVERS)
    (tmp_path / "losses.float32").touch()
    with pytest.raises(errors.CorruptError, match="fewer losses"):
        train(get_config(), tmp_path, [Losses()])
