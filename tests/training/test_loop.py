"""Runs of `training.train`: files, refusals, infinite losses and a real SIGTERM."""

import os
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import errors, files, training
from elu_zoo.configs import mnist_mlp_8x128
from elu_zoo.data import load
from elu_zoo.weights import manifest

BINARY = [sys.executable, "-m", "elu_zoo.bin.train", "--config=quickstart:smoke=True"]


def check_finished(workdir, entry, data_dir=None):
    """Checks an entry and its weight file, and measures the recorded errors again."""
    assert manifest.check(entry, "entry") == entry
    assert not [name for name in manifest.FIELDS if entry[name] is None]
    path = workdir / (entry["tag"] + manifest.SUFFIX)
    assert files.sha256(path) == entry["sha256"]
    assert path.stat().st_size == entry["bytes"]
    data = load.load(entry["dataset"], data_dir)
    model = elu_zoo.get_model(entry["model"], weights=workdir)
    for split in ("test", "validation"):
        part = getattr(data, split)
        logits = model.predict(part.images, batch_size=1000, verbose=0)
        wrong = int((logits.argmax(1) != part.labels).sum())
        error = 100 * wrong / len(part)
        assert entry["metrics"][f"{split}_error_percent"] == error


def test_a_finished_run_has_all_files_and_stays_unchanged(smoke, tmp_path, rows):
    entry = training.train(smoke(), tmp_path)
    tag = entry["tag"]
    assert {path.name for path in tmp_path.iterdir()} == {
        *("LOCK", "checkpoints", "config.json", "metrics.jsonl", "outcome.json"),
        *("tensorboard", "timing.jsonl", f"{tag}.json", f"{tag}.weights.h5"),
    }
    metrics = rows(tmp_path / "metrics.jsonl")
    assert [(r["step"], r["epoch"]) for r in metrics] == [(10, 1), (20, 2)]
    keys = "step epoch train_loss validation_loss validation_error_percent".split()
    assert all(list(row) == keys for row in metrics)
    assert metrics[1]["train_loss"] < metrics[0]["train_loss"] < 3
    start, *timing = rows(tmp_path / "timing.jsonl")
    assert start["compiled"] is True and start["replicas"] == 1
    assert [row["step"] for row in timing] == [10, 20]
    assert all(row["examples_per_second"] > 0 for row in timing)
    assert (entry["step"], entry["epochs"], entry["seed"]) == (20, 2, 0)
    check_finished(tmp_path, entry)

    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != "LOCK"}
    assert training.train(smoke(), tmp_path) == entry
    after = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != "LOCK"}
    assert after == before


@pytest.mark.data
def test_two_epochs_of_6400_mnist_images_learn(tmp_path, train):
    config = mnist_mlp_8x128.get_config("smoke=True")
    entry = train(config, tmp_path)
    assert entry["step"] == 200
    # At the low learning rate of the paper, the error after two epochs is high.
    assert entry["metrics"]["test_error_percent"] < 40
    check_finished(tmp_path, entry)


@pytest.mark.parametrize("activation", ["prelu", "rrelu"])
def test_activations_with_weights_or_a_random_state_are_trained_and_loaded(
    smoke, train, tmp_path, activation
):
    config = smoke(arg=f"activation={activation}")
    entry = train(config, tmp_path)
    assert entry["arguments"]["activation"]["name"] == activation
    assert entry["metrics"]["test_error_percent"] < 80
    check_finished(tmp_path, entry)


def test_a_run_on_two_devices_has_the_losses_of_one(smoke, train, tmp_path, rows):
    config = smoke(arg="batch_norm=True")
    train(config, tmp_path / "one")
    arguments = {"strategy": "mirrored", "num_devices": 2}
    entry = train(config, tmp_path / "two", **arguments)
    check_finished(tmp_path / "two", entry)
    assert (entry["strategy"], entry["replicas"]) == ("mirrored", 2)
    one, two = (rows(tmp_path / name / "metrics.jsonl") for name in ("one", "two"))
    for a, b in zip(one, two, strict=True):
        assert b["train_loss"] == pytest.approx(a["train_loss"], 1e-4)


def test_another_backend_is_refused(smoke, train, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    words = "needs KERAS_BACKEND=tensorflow or jax. Received: torch"
    with pytest.raises(errors.UsageError, match=words):
        train(smoke(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_config_in_the_folder_is_refused(smoke, train, tmp_path, stop_after):
    stop_after(10, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(smoke(), tmp_path)
    with pytest.raises(errors.UsageError, match="iteration 10 of 20"):
        elu_zoo.get_model("mnist_mlp_8x128", weights=tmp_path)
    changed = smoke({"train.epochs": 3, "train.learning_rates": (0.02,)})
    words = (
        r"train.epochs: 2 -> 3; train.learning_rates: \[0.05\] -> \[0.02\]\. "
        "Pass another --workdir"
    )
    with pytest.raises(errors.UsageError, match=words):
        train(changed, tmp_path)
    # The checkpoint has a copy of the config.
    (tmp_path / "config.json").unlink()
    with pytest.raises(errors.UsageError, match=words):
        train(changed, tmp_path)
    assert train(smoke(), tmp_path)["step"] == 20


@pytest.mark.parametrize(
    "entries, error, words",
    [
        ({"train.batch_size": 641}, errors.DataError, "640 .* one batch of 641"),
        (
            {"data.train_examples": 3501, "smoke": False},
            errors.DataError,
            "train_examples must be at most 3500, .* Received: 3501. Set it to 0 for",
        ),
        ({"train.boundaries": (20,)}, errors.UsageError, "one entry more"),
        ({"train.batch_size": 63}, errors.UsageError, "Set it to 62 or 64"),
    ],
)
def test_configs_that_do_not_fit_the_data_leave_no_config_file(
    smoke, train, tmp_path, entries, error, words
):
    arguments = {"strategy": "mirrored", "num_devices": 2}
    with pytest.raises(error, match=words):
        train(smoke(entries), tmp_path, **arguments)
    assert not (tmp_path / "config.json").exists()


def test_a_damaged_config_file_of_the_folder_is_refused(smoke, train, tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(errors.CorruptError, match="config.json is damaged"):
        train(smoke(), tmp_path)


def test_a_second_run_in_the_folder_is_refused(smoke, train, tmp_path, monkeypatch):
    monkeypatch.setattr(load, "load", lambda *_: pytest.fail("data were read"))
    words = f"in use by process {os.getpid()} on "
    with (
        files.exclusive(tmp_path / "LOCK"),
        pytest.raises(errors.ResourceError, match=words),
    ):
        train(smoke(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["LOCK"]


@pytest.mark.parametrize("steps_per_call", [None, 1])
def test_an_infinite_loss_ends_the_run_and_keeps_a_finite_checkpoint(
    smoke, train, tmp_path, last_arrays, steps_per_call
):
    schedule = {"train.boundaries": (14,), "train.learning_rates": (0.05, 1e30)}
    words = "iteration 15 is .*, at learning rate 1.*checkpoint of iteration 10 is kept"
    with pytest.raises(errors.TrainingError, match=words):
        train(smoke(schedule), tmp_path, steps_per_call=steps_per_call)
    names = [p.name for p in (tmp_path / "checkpoints").iterdir()]
    assert names == [f"step-{10:09d}.npz"]
    assert all(np.isfinite(array).all() for array in last_arrays(tmp_path))


def test_a_run_that_diverges_before_its_first_checkpoint_says_so(smoke, train, tmp_path):
    schedule = {"train.learning_rates": (1e30,)}
    with pytest.raises(errors.TrainingError, match=r"iteration \d+ .* no checkpoint"):
        train(smoke(schedule), tmp_path)
    assert not [*tmp_path.glob("checkpoints/*")]
    changed = smoke({"train.learning_rates": (0.01,)})
    with pytest.raises(errors.UsageError, match="config_change to train here"):
        train(changed, tmp_path)


def test_an_infinite_validation_loss_ends_the_run(smoke, train, tmp_path):
    """The last update of an epoch makes the weights very large."""
    schedule = {"train.boundaries": (9, 10), "train.learning_rates": (0.05, 1e30, 0.0)}
    words = "loss after iteration 10 is .*checkpoint of iteration 8 is kept"
    with pytest.raises(errors.TrainingError, match=words):
        train(smoke({**schedule, "train.checkpoint_every": 4}), tmp_path)
    names = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert names == [f"step-{step:09d}.npz" for step in (4, 8)]


def test_checkpoint_seconds_skips_all_but_the_last_checkpoint(smoke, train, tmp_path):
    config = smoke({"train.checkpoint_every": 4})
    with pytest.raises(errors.UsageError, match="checkpoint_seconds must be .* >= 0"):
        train(config, tmp_path, checkpoint_seconds=-1)
    train(config, tmp_path, checkpoint_seconds=3600)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000020.npz"]


@pytest.mark.slow
def test_sigterm_ends_the_binary_with_143_and_the_run_resumes_bit_identically(
    smoke, train, tmp_path, last_arrays, assert_same_bits, rows
):
    entries = {"train.epochs": 100, "train.momentum": 0.9}
    entries["train.learning_rates"] = (0.005,)
    overrides = [f"--config.{key}={value}" for key, value in entries.items()]
    cut, unstopped = tmp_path / "cut", tmp_path / "unstopped"
    command = [*BINARY, *overrides, f"--workdir={cut}", "--compile=off"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not list(cut.glob("checkpoints/step-*")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        process.terminate()
        message = process.communicate(timeout=60)[1].splitlines()[-1]
    assert process.returncode == 143
    assert message.startswith("error: SIGTERM after iteration ")
    step = int(message.split()[4])
    assert (cut / "checkpoints" / f"step-{step:09d}.npz").is_file()
    assert not (cut / "outcome.json").exists()

    entry, expected = (train(smoke(entries), folder) for folder in (cut, unstopped))
    assert entry["sha256"] == expected["sha256"]
    assert_same_bits(last_arrays(cut), last_arrays(unstopped))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (cut, unstopped)]
    assert contents[0] == contents[1]
    starts = [r["step"] for r in rows(cut / "timing.jsonl") if "strategy" in r]
    assert starts == [0, step]


def test_initial_weights_depend_on_the_seed_only(smoke, train, tmp_path):
    """A learning rate of 0 keeps the initial weights of both activations."""
    arrays = []
    for activation in ("elu", "relu"):
        config = smoke({"train.learning_rates": (0.0,)}, f"activation={activation}")
        train(config, tmp_path / activation)
        model = elu_zoo.get_model("mnist_mlp_8x128", weights=tmp_path / activation,
                                  activation=activation)  # fmt: skip
        arrays.append([np.asarray(v) for v in model.weights])
    initial = elu_zoo.get_model("mnist_mlp_8x128", width=0.25, seed=0, preprocessing=False)
    for elu, relu, variable in zip(*arrays, initial.weights, strict=True):
        expected = np.asarray(variable).astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(elu, expected)
        np.testing.assert_array_equal(relu, expected)
