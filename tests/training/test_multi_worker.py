"""Two machines, as two processes on this one, against a single process."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from elu_zoo import errors

BINARY = [sys.executable, "-m", "elu_zoo.bin.train", "--config=quickstart:smoke=True"]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def run_cluster(workdirs, *overrides):
    """Runs a worker for each folder; returns their exit codes and stderr."""
    hosts = [f"127.0.0.1:{port}" for port in free_ports(len(workdirs))]
    processes = []
    for index, workdir in enumerate(workdirs):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": {"worker": hosts}, "task": task})
        command = [*BINARY, "--compile=off", f"--workdir={workdir}", *overrides]
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
