"""Two machines, as two processes on this one, against a single process."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
import small_images

from elu_zoo import errors
from elu_zoo.training import loop


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def run_cluster(workdirs, *overrides, name="quickstart", kinds=("worker", "worker")):
    """Runs a task of these kinds for each folder; returns exit codes and stderr."""
    hosts, processes = {}, []
    for kind, port in zip(kinds, free_ports(len(kinds)), strict=True):
        hosts.setdefault(kind, []).append(f"127.0.0.1:{port}")
    tasks = [(kind, index) for kind in hosts for index in range(len(hosts[kind]))]
    for (kind, index), workdir in zip(tasks, workdirs, strict=True):
        task = {"type": kind, "index": index}
        config = json.dumps({"cluster": hosts, "task": task})
        command = [sys.executable, "-m", "elu_zoo.bin.train", "--compile=off"]
        command += [f"--config={name}:smoke=True", f"--workdir={workdir}", *overrides]
        environment = {**os.environ, "TF_CONFIG": config}
        processes.append(
            subprocess.Popen(
                command, env=environment, stderr=subprocess.PIPE, text=True
            )
        )
    outputs = [process.communicate(timeout=180)[1] for process in processes]
    return [process.returncode for process in processes], outputs


def losses(workdir):
    rows = (workdir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(row)["train_loss"] for row in rows]


def test_two_workers_train_what_one_process_trains(smoke, train, tmp_path):
    single, shared = tmp_path / "single", tmp_path / "shared"
    expected = train(smoke(), single)
    codes, outputs = run_cluster([shared, shared])
    assert codes == [0, 0], outputs
    assert losses(shared) == pytest.approx(losses(single), rel=1e-5)
    (entry,) = (json.loads((shared / "outcome.json").read_text()),)
    error = entry["metrics"]["test_error_percent"]
    assert error == pytest.approx(expected["metrics"]["test_error_percent"], abs=0.2)


@pytest.mark.slow
def test_machines_read_their_parts_of_images_on_the_disk(tmp_path):
    """A chief and a worker, which look for the mean image at the same time."""
    folder, shared = tmp_path / "images", tmp_path / "shared"
    small_images.write_splits(folder)
    config = small_images.get_config(folder, {"train.precision": "float32"})
    entries = {**small_images.ENTRIES, "data.folder": folder}
    overrides = [f"--config.{key}={value}" for key, value in entries.items()]
    codes, outputs = run_cluster(
        *([shared, shared], *overrides, "--config.train.precision=float32"),
        name="elu_imagenet_15",
        kinds=("chief", "worker"),
    )
    assert codes == [0, 0], outputs
    loop.train(config, tmp_path / "single")
    assert losses(shared) == pytest.approx(losses(tmp_path / "single"), rel=1e-4)


def test_folders_that_are_not_shared_are_refused(tmp_path, smoke, train, stop_after):
    begun, empty = tmp_path / "begun", tmp_path / "empty"
    stop_after(10, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(errors.Interrupted, match="after iteration 10"):
        train(smoke(), begun)
    codes, outputs = run_cluster([begun, empty])
    assert codes == [2, 2], outputs
    for output, step in zip(outputs, (10, 0), strict=True):
        assert f"at iteration {step}. The folder must be on a disk" in output
    assert not (begun / "outcome.json").exists()
