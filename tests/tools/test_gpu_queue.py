"""tools/gpu_queue.py: a kit, runs that stop and go on, and their rows, on a CPU."""

import functools
import json
import subprocess
import sys

import gpu_files
import gpu_kit
import gpu_queue
import numpy as np
import pytest
from gpu_jobs import Job, read_queue

from elu_zoo import files, results
from elu_zoo.data import cache, load
from elu_zoo.training.config import resolve

LONG = (
    "elu-zoo-train --config=mnist_mlp_8x128:smoke=True,seed=7 --config.data.name="
    "mnist_5k --config.data.train_examples=640 --config.train.epochs=20000"
)
SHORT = "elu-zoo-train --config=quickstart:smoke=True,seed=1 --config.data.measure_test=False"


@pytest.mark.slow
def test_a_packed_data_set_is_equal(tmp_path, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "here"))
    monkeypatch.setattr(gpu_kit, "PART_BYTES", 500_000)
    expected = load.load("mnist_5k")
    gpu_kit.pack_data("mnist_5k", tmp_path)
    parts = sorted(tmp_path.glob("mnist_5k.zip.*"))
    assert len(parts) > 1 and max(gpu_kit.size(p) for p in parts) <= 500_000
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "there"))
    gpu_kit.main(tmp_path)
    assert cache.newest("mnist_5k-*")
    unpacked = load.load("mnist_5k")
    for split in "train", "validation", "test":
        images = (getattr(data, split).images for data in (unpacked, expected))
        np.testing.assert_array_equal(*images)


def test_the_queues_hold_configs_that_can_be_trained():
    queues = gpu_queue.QUEUE.parent.glob("gpu_queue*.txt")
    jobs = [job for queue in queues for job in read_queue(queue)]
    assert len({job.name for job in jobs}) == len(jobs) > 0
    assert all(job.images() > 0 and len(job.name) < 250 for job in jobs)
    for job in jobs:
        resolve(job.config())  # refuses fields that do not exist


def test_folders_travel_in_parts_of_which_ended_runs_wait_for_room(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_files, "FILE_BYTES", 35_000)
    monkeypatch.setattr(gpu_files, "FILES", 2)
    first, second, later, there = (tmp_path / name for name in ("1", "2", "later", "there"))
    stopped = {"checkpoints/step-1.npz": 30_000, "checkpoints/step-2.npz": 20_000}
    runs = {"a": stopped, "b": {"outcome.json": 2, "weights": 60_000}, "c": stopped}
    for run, sizes in runs.items():
        for name, size in sizes.items():
            files.write_bytes(tmp_path / run / name, np.random.default_rng(size).bytes(size))
    for folder in first, second, later:
        folder.mkdir()
    assert gpu_files.add(tmp_path / "a", first)
    assert gpu_files.add(tmp_path / "b", first, later)  # in two parts
    assert not gpu_files.add(tmp_path / "c", first)
    gpu_files.extract(first, there)
    assert (there / "a/checkpoints/step-2.npz").is_file() and not (there / "b").exists()
    (there / "a/checkpoints/step-3.npz").touch()
    gpu_files.send(second, later)
    for output in second, first:
        gpu_files.extract(output, there)
        assert (there / "b/weights").read_bytes() == (tmp_path / "b/weights").read_bytes()
    assert (there / "a/checkpoints/step-3.npz").exists()  # not replaced by older ones


def test_the_time_of_a_run_is_estimated_by_its_network_and_its_rest(tmp_path):
    rows = [{"step": 0, "iterations": 20}, {"step": 10, "examples_per_second": 5.0}]
    for name, speed in (("small", 5.0), ("other", 2.0)):
        rows[1]["examples_per_second"] = speed
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        files.write_bytes(tmp_path / name / "timing.jsonl", text.encode())
    networks = {"small": "a", "new": "a", "other": "b", "large": "c"}
    for name, seconds in (("small", 10.0), ("new", 20.0), ("large", 20.0)):
        found = gpu_queue._seconds(Job(name), 100, networks, tmp_path)
        assert found == gpu_queue.START_SECONDS + seconds
    nothing = gpu_queue._seconds(Job("new"), 100, networks, tmp_path / "none")
    assert nothing == gpu_queue.START_SECONDS  # the first runs may fit


def test_a_queue_whose_first_runs_all_fail_stops_and_shows_why(tmp_path, monkeypatch, capsys):
    (tmp_path / "queue.txt").write_text("".join(f"1 net line{i}\n" for i in range(10)))
    monkeypatch.setattr(gpu_queue, "_prepare", lambda kit, runs: {})
    failing = [sys.executable, "-c", "raise SystemExit('no such card')"]
    popen = functools.partial(subprocess.Popen, failing)
    monkeypatch.setattr(subprocess, "Popen", lambda _, env, **streams: popen(**streams))
    gpu_queue.run(tmp_path, tmp_path / "output", 1.0, 2, tmp_path / "runs")
    printed = capsys.readouterr().out
    assert "no such card" in printed and 2 <= printed.count("status 1") <= 4


def test_processes_share_a_gpu_by_time_if_its_service_starts_but_fails(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    control = tmp_path / "nvidia-cuda-mps-control"
    control.write_text("#!/bin/sh\nexit 0\n")
    control.chmod(0o755)
    for platform, works in (("cpu", True), ("none", False)):
        environment = {"PATH": str(tmp_path), "JAX_PLATFORMS": platform}
        monkeypatch.setenv("PATH", str(tmp_path))
        with gpu_queue.mps(environment) as given:
            assert ("CUDA_MPS_PIPE_DIRECTORY" in given) == works


@pytest.mark.slow
@pytest.mark.nightly
def test_a_stopped_run_goes_on_and_each_run_has_one_row(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    queue, kit, output = (tmp_path / name for name in ("queue.txt", "kit", "output"))
    here, there, stored = (tmp_path / name for name in ("here", "there", "results"))
    stored.mkdir()
    (kit / "wheels").mkdir(parents=True)
    (kit / "wheels" / "none.whl").touch()
    monkeypatch.setattr(gpu_queue, "STOP_SECONDS", 15)
    queue.write_text(f"# a comment\n{LONG}\n{SHORT}\n")
    gpu_queue.pack(kit, here, stored, queue, 1e6)
    gpu_queue.run(kit, output, 1.0, 2, there)
    gpu_queue.collect(output, here, stored, queue)
    assert [row["config"] for row in results.read_file(stored / "trials.csv")] == [
        Job(SHORT).trained
    ]
    assert "SIGTERM" in (there / Job(LONG).name / "log.txt").read_text()
    state = here / Job(LONG).name / "checkpoints"
    assert state.is_dir() and not (here / Job(SHORT).name / "checkpoints").exists()
    for again in True, False:  # another call on the same machine
        gpu_queue.run(kit, tmp_path / f"{again}", 0.0, 2, there, again)
        assert any((tmp_path / f"{again}").iterdir()) == again
    # On the next machine the stopped run goes on, here to an end that is near.
    queue.write_text(f"{SHORT}\n{LONG}\n")
    gpu_queue.pack(kit, here, stored, queue, 1e6)
    assert (kit / "queue.txt").read_text().count("elu-zoo-train") == 1
    steps = [row["step"] for row in gpu_files.rows(here / Job(LONG).name / "timing.jsonl")]
    gpu_queue.run(kit, tmp_path / "output2", 0.75, 2, tmp_path / "elsewhere")
    gpu_queue.collect(tmp_path / "output2", here, stored, queue)
    more = [row["step"] for row in gpu_files.rows(here / Job(LONG).name / "timing.jsonl")]
    assert more[: len(steps)] == steps and more[-1] > steps[-1]
    assert len(results.read_file(stored / "trials.csv")) == 1
