"""Runs of `training.train`: files, refusals, infinite losses and real signals."""

import os
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import elu_zoo
from elu_zoo import errors, files, training
from elu_zoo.data import load
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training.step.compilation import CHECKPOINT_SECONDS
from elu_zoo.weights import manifest
from elu_zoo.weights.unfinished import newest_step

TWO_DEVICES = {"strategy": "mirrored", "num_devices": 2}
BINARY = [sys.executable, "-m", "elu_zoo.bin.train", "--config=quickstart:smoke=True"]


def check_finished(workdir, entry):
    """Checks an entry and its weight file, and measures the recorded errors again."""
    assert manifest.check(entry, "entry") == entry
    assert not [name for name in manifest.FIELDS if entry[name] is None]
    path = workdir / (entry["tag"] + manifest.SUFFIX)
    assert files.sha256(path) == entry["sha256"]
    assert path.stat().st_size == entry["bytes"]
    data = load.load(entry["dataset"])
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
    assert all(list(row)[:5] == keys for row in metrics)
    assert metrics[1]["train_loss"] < metrics[0]["train_loss"] < 3
    start, *timing = rows(tmp_path / "timing.jsonl")
    assert start["compiled"] is True and start["replicas"] == 1
    assert [row["step"] for row in timing] == [10, 20]
    assert all(row["examples_per_second"] > 0 for row in timing)
    assert (entry["step"], entry["epochs"], entry["seed"]) == (20, 2, 0)
    check_finished(tmp_path, entry)
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert board.Scalars("learning_rate")[1].value == np.float32(0.05)

    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != "LOCK"}
    assert training.train(smoke(), tmp_path) == entry
    after = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != "LOCK"}
    assert after == before


@pytest.mark.slow
def test_devices_and_parts_of_a_batch_change_losses_by_rounding(smoke, train, tmp_path, rows):
    """Batch normalisation uses the whole batch of several devices, but only one part."""
    config = smoke(arg="batch_norm=True,activation=prelu")
    with config.unlocked():
        config.model.hidden_layers = 2
    runs = {"one": {}, "two": TWO_DEVICES, "parts": {"accumulate": 4}}
    entries = {name: train(config, tmp_path / name, **runs[name]) for name in runs}
    check_finished(tmp_path / "two", entries["two"])
    assert (entries["two"]["strategy"], entries["two"]["replicas"]) == ("mirrored", 2)
    assert rows(tmp_path / "parts" / "timing.jsonl")[0]["accumulate"] == 4
    assert entries["parts"]["accumulate"] == 4 and "accumulate" not in entries["one"]
    one, two, parts = (rows(tmp_path / name / "metrics.jsonl") for name in runs)
    for a, b, c in zip(one, two, parts, strict=True):
        assert b["train_loss"] == pytest.approx(a["train_loss"], 1e-4)
        assert 1e-4 < abs(c["train_loss"] / a["train_loss"] - 1) < 0.2


def test_a_run_in_bfloat16_is_measured_in_float32(smoke, train, tmp_path):
    entry = train(smoke({"train.precision": "mixed_bfloat16"}), tmp_path)
    model = elu_zoo.get_model("mnist_mlp_8x128", weights=tmp_path)
    evaluator = Evaluator(model, Objective("softmax_cross_entropy", entry["preprocessing"]))
    measures = evaluator(load.load("mnist_5k").test)
    assert entry["metrics"]["test_loss"] == pytest.approx(measures["loss"], rel=1e-6)


def test_another_backend_is_refused(smoke, train, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(errors.UsageError, match="Received: torch"):
        train(smoke(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_config_in_the_folder_is_refused(smoke, train, tmp_path, stop_after):
    stop_after(10, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted):
        train(smoke(), tmp_path)
    with pytest.raises(errors.UsageError, match="iteration 10 is kept"):
        elu_zoo.get_model("mnist_mlp_8x128", weights=tmp_path)
    (tmp_path / "config.json").unlink()  # the checkpoint has a copy of the config
    with pytest.raises(errors.UsageError, match="train.epochs: 2 -> 3"):
        train(smoke({"train.epochs": 3}), tmp_path)
    assert train(smoke(), tmp_path)["step"] == 20


@pytest.mark.parametrize(
    ("entries", "arguments", "error", "words"),
    [
        ({"train.batch_size": 641}, {}, errors.DataError, "one batch of 641"),
        (
            {"data.train_examples": 3501, "smoke": False}, {}, errors.DataError,
            "Set it to 0 for all images"
        ),
        ({}, {"accumulate": 3}, errors.UsageError, "--accumulate"),
    ],
)  # fmt: skip
def test_configs_that_do_not_fit_the_data_leave_no_config_file(
    smoke, train, tmp_path, entries, arguments, error, words
):
    with pytest.raises(error, match=words):
        train(smoke(entries), tmp_path, **arguments)
    assert not (tmp_path / "config.json").exists()


def test_a_damaged_config_file_of_the_folder_is_refused(smoke, train, tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(errors.CorruptError, match="config.json is damaged"):
        train(smoke(), tmp_path)


def test_a_second_run_in_the_folder_is_refused(smoke, train, tmp_path, monkeypatch):
    monkeypatch.setattr(load, "load", lambda *_: pytest.fail("data were read"))
    refused = pytest.raises(errors.ResourceError, match=f"process {os.getpid()}")
    with files.exclusive(tmp_path / "LOCK"), refused:
        train(smoke(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["LOCK"]


INFINITE = [
    # The rate is 1e30 from iteration 15 on, or in the last iteration of an epoch.
    ((14,), (0.05, 1e30), "iteration 15 is .*, at rate 1.*iteration 12 is kept", [4, 8, 12]),
    ((9, 10), (0.05, 1e30, 0.0), "loss after iteration 10 is .*iteration 8 is kept", [4, 8]),
]


@pytest.mark.parametrize(("boundaries", "rates", "words", "kept"), INFINITE)
def test_an_infinite_loss_ends_the_run_and_keeps_finite_checkpoints(
    smoke, train, tmp_path, last_arrays, boundaries, rates, words, kept
):
    schedule = {"train.boundaries": boundaries, "train.learning_rates": rates}
    with pytest.raises(errors.TrainingError, match=words):
        train(smoke({**schedule, "train.checkpoint_every": 4}), tmp_path)
    names = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert names == [f"step-{step:09d}.npz" for step in kept]
    assert all(np.isfinite(array).all() for array in last_arrays(tmp_path))


def test_a_run_that_diverges_before_its_first_checkpoint_says_so(smoke, train, tmp_path):
    schedule = {"train.learning_rates": (1e30,)}
    with pytest.raises(errors.TrainingError, match=r"iteration \d+ .* no checkpoint"):
        train(smoke(schedule), tmp_path)
    assert not [*tmp_path.glob("checkpoints/*")]
    changed = smoke({"train.learning_rates": (0.01,)})
    with pytest.raises(errors.UsageError, match="config_change to train here"):
        train(changed, tmp_path)


def test_checkpoints_that_follow_too_soon_are_skipped_but_the_last(
    smoke, train, tmp_path, monkeypatch
):
    monkeypatch.setitem(CHECKPOINT_SECONDS, "cpu", 3600)
    train(smoke({"train.checkpoint_every": 4}), tmp_path)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000020.npz"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_stopped_or_killed_binary_resumes_bit_identically(
    smoke, train, tmp_path, last_arrays, assert_same_bits, rows, number, code
):
    entries = {"train.epochs": 60, "train.momentum": 0.9, "train.checkpoint_every": 3}
    entries |= {"train.learning_rates": (0.005,), "model.name": "mnist_mlp_8x128"}
    overrides = [f"--config.{key}={value}" for key, value in entries.items()]
    cut, unstopped = tmp_path / "cut", tmp_path / "unstopped"
    command = [*BINARY, *overrides, f"--workdir={cut}", "--compile=off"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while (newest_step(cut) or 0) < 100:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(number)
        output = process.communicate(timeout=180)[1]
    assert process.returncode == code and not (cut / "outcome.json").exists()
    step = newest_step(cut)
    assert code < 0 or f"error: SIGTERM after iteration {step} of 600" in output

    entry, expected = (train(smoke(entries), folder) for folder in (cut, unstopped))
    assert entry["sha256"] == expected["sha256"]
    arrays = last_arrays(cut)
    assert len(arrays) > 2 * 18  # weights, biases and the slots of the optimizer
    assert_same_bits(arrays, last_arrays(unstopped))
    contents = [(f / "metrics.jsonl").read_bytes() for f in (cut, unstopped)]
    assert contents[0] == contents[1]
    starts = [r["step"] for r in rows(cut / "timing.jsonl") if "strategy" in r]
    assert starts == [0, step] and not list((cut / "checkpoints").glob(".*"))
