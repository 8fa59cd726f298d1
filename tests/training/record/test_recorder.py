"""Records of an observed run. Observing a run does not change the results."""

import contextlib
import dataclasses
import json

import keras
import numpy as np
import pytest
import small_stacks
from observed_runs import (
    DATA,
    EPOCH,
    OBSERVE,
    OBSERVE_STACKS,
    STACKS,
    TESTED,
    TOTAL,
    get_config,
    random_data,
    read_records,
    train,
)

import elu_zoo
from elu_zoo import errors, zoo
from elu_zoo.data import load
from elu_zoo.training.record import recorder
from elu_zoo.training.record.recorder import Observe
from elu_zoo.training.step import devices, precision, resident


@pytest.fixture(scope="module", autouse=True)
def random_images():
    with random_data():
        yield


OFTEN = {"train.checkpoint_every": 5, "train.checkpoints_kept": 9}


@contextlib.contextmanager
def record_calls():
    """Yields a list to which a run adds the number of iterations of each call."""
    lengths, run = [], resident.ResidentStep.run

    def counted(self, batches, *arguments):
        lengths.append(len(batches))
        return run(self, batches, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident.ResidentStep, "run", counted)
        yield lengths


@pytest.fixture(scope="module")
def unobserved(tmp_path_factory):
    """Folder, entry and call lengths of an unobserved run with all checkpoints kept."""
    workdir = tmp_path_factory.mktemp("unobserved") / "run"
    with record_calls() as lengths:
        entry = train(get_config(OFTEN), workdir, steps_per_call=4)
    return workdir, entry, lengths


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Folder, entry and call lengths of an observed run."""
    workdir = tmp_path_factory.mktemp("observed") / "run"
    with record_calls() as lengths:
        entry = train(get_config(), workdir, OBSERVE)
    return workdir, entry, lengths


@pytest.fixture(scope="module")
def stacks(tmp_path_factory):
    """Folder and entry of an observed run with random slopes and moving averages."""
    workdir = tmp_path_factory.mktemp("stacks") / "run"
    return workdir, train(small_stacks.get_config(STACKS), workdir, OBSERVE_STACKS)


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
    right = p[np.arange(len(split)), split.labels]
    wrong = p.argmax(axis=1) != split.labels
    return {"loss": -np.log(right).mean(), "error_percent": 100 * wrong.mean()}


def unit_activations(model, images):
    """Returns activations, `(values, units)`, by the name of the layer."""
    layers = [x for x in model.layers if x.name.startswith("act_")]
    outputs = [layer.output for layer in layers]
    arrays = keras.Model(model.inputs, outputs).predict(images, verbose=0)
    values = [np.float32(array).reshape(-1, array.shape[-1]) for array in arrays]
    return {layer.name: v for layer, v in zip(layers, values, strict=True)}


def assert_statistics(path, values):
    with np.load(path) as arrays:
        names = [f"{kind}/{name}" for kind in ("mean", "median") for name in values]
        assert arrays.files == names
        for name, expected in values.items():
            for kind, function in (("mean", np.mean), ("median", np.median)):
                array = arrays[f"{kind}/{name}"]
                assert array.dtype == np.float32
                np.testing.assert_allclose(array, function(expected, 0), 1e-5, 1e-6)


def read_checkpoint(workdir, step, count):
    """Returns the first arrays of a checkpoint, which are the weights of the model."""
    with np.load(workdir / "checkpoints" / f"step-{step:09d}" / "arrays.npz") as arrays:
        return list(arrays.values())[:count]


def test_an_observed_run_has_the_results_of_an_unobserved_run(unobserved, observed):
    assert unobserved[2] == [4, 1, 1, 4, 2, 3, 3]
    assert observed[2] == [5, 1, 1, 3, 2, 2, 1, 3]
    assert observed[1]["sha256"] == unobserved[1]["sha256"]
    assert observed[1]["metrics"] == unobserved[1]["metrics"]
    records, expected = read_records(observed[0]), read_records(unobserved[0])
    assert list(expected) == ["metrics.jsonl"]
    assert records["metrics.jsonl"] == expected["metrics.jsonl"]


@pytest.mark.slow
def test_observing_does_not_change_random_slopes_and_moving_averages(tmp_path, stacks):
    expected = train(small_stacks.get_config(STACKS), tmp_path)
    assert stacks[1]["sha256"] == expected["sha256"]
    name = "metrics.jsonl"
    assert read_records(stacks[0])[name] == read_records(tmp_path)[name]


def test_losses_are_recorded_for_each_iteration(observed, rows):
    losses = recorder.read_losses(observed[0])
    assert losses.dtype == np.float32 and losses.shape == (TOTAL,)
    assert (observed[0] / "losses.float32").stat().st_size == 4 * TOTAL
    epochs = [sum(part.tolist()) / EPOCH for part in losses.reshape(-1, EPOCH)]
    assert epochs == [row["train_loss"] for row in rows(observed[0] / "metrics.jsonl")]
    assert len(set(losses.tolist())) == TOTAL


def test_rows_measure_the_weights_of_their_iteration(unobserved, observed):
    """The unobserved run has a checkpoint at each iteration with a row."""
    rows = recorder.read_rows(observed[0])
    assert [row["step"] for row in rows] == TESTED
    parts = {"test": DATA.test, "measured": DATA.train.first(30)}
    for row in rows:
        weights = read_checkpoint(unobserved[0], row["step"], 18)
        model = load_model(observed[0], weights)
        expected = {"step": row["step"]}
        for name, split in parts.items():
            for key, value in measure(model, split).items():
                expected[f"{name}_{key}"] = pytest.approx(value, 1e-5)
        assert row == expected
    assert len({row["test_loss"] for row in rows}) == len(rows)


def test_snapshots_are_the_unrounded_weights_of_their_epochs(unobserved, observed):
    paths = sorted(path.name for path in (observed[0] / "snapshots").iterdir())
    assert paths == [f"epoch-{epoch:05d}.npz" for epoch in (0, 2, 3)]
    snapshots = recorder.read_snapshots(observed[0])
    assert list(snapshots) == [0, 2, 3]
    initial = elu_zoo.get_model(
        "mnist_mlp_8x128", width=0.1, seed=0, input_shape=(6, 6, 1), preprocessing=False
    )
    trained = elu_zoo.get_model("mnist_mlp_8x128", weights=observed[0]).get_weights()
    last = read_checkpoint(unobserved[0], TOTAL, 18)
    for i, (first, weights) in enumerate(zip(snapshots[0], snapshots[3], strict=True)):
        assert weights.dtype == first.dtype == np.float32
        np.testing.assert_array_equal(first, np.asarray(initial.weights[i]))
        np.testing.assert_array_equal(weights, last[i])
        np.testing.assert_array_equal(np.float32(np.float16(weights)), trained[i])
    assert any((a != b).any() for a, b in zip(snapshots[3], trained, strict=True))
    assert any((a != b).any() for a, b in zip(snapshots[2], snapshots[3], strict=True))


def test_activation_statistics_are_recorded_for_each_epoch(observed):
    paths = sorted((observed[0] / "activations").iterdir())
    assert [p.name for p in paths] == [f"epoch-{epoch:05d}.npz" for epoch in range(4)]
    for epoch, weights in recorder.read_snapshots(observed[0]).items():
        model = load_model(observed[0], weights)
        assert_statistics(paths[epoch], unit_activations(model, DATA.train.images[:50]))
    with pytest.raises(AssertionError):  # Statistics over all images differ.
        assert_statistics(paths[3], unit_activations(model, DATA.train.images))
    first, second = (path.read_bytes() for path in paths[:2])
    assert first != second


def test_records_of_a_bfloat16_run_are_measured_in_float32(stacks):
    """With activation_images=-1 the statistics are over all training images."""
    workdir, entry = stacks
    assert entry["config"]["train"]["precision"] == "bfloat16_conv"
    (weights,) = recorder.read_snapshots(workdir).values()
    model = load_model(workdir, weights)
    arrays = unit_activations(model, DATA.train.images)
    assert len(arrays) == 3 and len(arrays["act_stack1_conv1"]) > len(DATA.train)
    path = workdir / "activations" / "epoch-00002.npz"
    assert_statistics(path, arrays)
    row = recorder.read_rows(workdir)[-1]
    expected = measure(model, DATA.test)
    assert row["test_loss"] == pytest.approx(expected["loss"], 1e-6)

    reduced = load_model(workdir, weights)
    precision.apply(reduced, "bfloat16_conv")
    with pytest.raises(AssertionError):
        assert_statistics(path, unit_activations(reduced, DATA.train.images))
    assert measure(reduced, DATA.test)["loss"] != pytest.approx(row["test_loss"], 1e-5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"test_every": -1}, "test_every must be an integer >= 0. Received: -1"),
        ({"test_every": 5, "measured_images": -1}, "measured_images .* Received: -1"),
        ({"measured_images": 5}, "measured_images needs test_every > 0"),
        ({"activation_images": -2}, "activation_images must be an integer >= -1"),
    ],
)
def test_wrong_values_are_refused(wrong, words):
    with pytest.raises(errors.UsageError, match=words):
        Observe(**wrong)


class OnDisk:
    """A split whose images stay on the disk."""

    def __len__(self):
        return 96


class Several:
    """A fake of the peers of a run on several machines."""

    index, count = 0, 2
    guard = contextlib.nullcontext

    def __init__(self, _):
        pass

    def check_same(self, facts):
        pass


ENCODED = dataclasses.replace(DATA, train=OnDisk())
ALONE = "Only a run on one machine can record losses"
MEASURES = Observe(test_every=5, measured_images=9)


@pytest.mark.parametrize(
    ("observe", "data", "machines", "words"),
    [
        (
            Observe(activation_images=97),
            DATA,
            None,
            "at most 96, .*mnist_5k. Received: 97",
        ),
        (
            dataclasses.replace(MEASURES, measured_images=97),
            DATA,
            None,
            "at most 96, .*mnist",
        ),
        (
            Observe(activation_images=-1),
            ENCODED,
            None,
            "activation_images must be 0 for",
        ),
        (MEASURES, ENCODED, None, "measured_images must be 0 for .* disk"),
        (Observe(losses=True), DATA, Several, ALONE),
    ],
)
def test_records_that_do_not_fit_data_or_machines_are_refused_before_any_work(
    tmp_path, monkeypatch, observe, data, machines, words
):
    monkeypatch.setattr(load, "load", lambda *_: data)
    monkeypatch.setattr(zoo, "get_model", lambda *_: pytest.fail("a model"))
    if machines:
        monkeypatch.setattr(devices, "peers", machines)
    with pytest.raises(errors.UsageError, match=words):
        train(get_config(), tmp_path / "run", observe)
    assert not (tmp_path / "run").exists()


def test_read_rows_ignores_an_incomplete_last_row(tmp_path):
    assert recorder.read_rows(tmp_path) == []
    path = tmp_path / "test.jsonl"
    for torn in ("", '{"step": 15, "te', '{"step": 15}'):
        path.write_text('{"step": 5}\n{"step": 10}\n' + torn)
        assert recorder.read_rows(tmp_path) == [{"step": 5}, {"step": 10}]


def test_check_kept_names_the_missing_records(tmp_path, observed, unobserved):
    Observe(test_every=5, measured_images=96).check(DATA, several=False)
    Observe(losses=True).check(ENCODED, several=False)
    recorder.check_kept(observed[0], OBSERVE)
    recorder.check_kept(tmp_path, Observe())
    (tmp_path / "test.jsonl").touch()
    with pytest.raises(errors.DataError, match="not record losses.float32, activations, snap"):
        recorder.check_kept(tmp_path, OBSERVE)
    words = "The finished run in .* did not record losses.float32, test.jsonl, activ"
    with pytest.raises(errors.DataError, match=words):
        train(get_config(OFTEN), unobserved[0], OBSERVE)
