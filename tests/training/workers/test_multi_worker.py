"""Training by a cluster of two processes, compared with one process."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from elu_zoo.configs import mnist_mlp_8x128

# Two epochs of ten iterations.
DIGITS = {"data.name": "mnist_5k", "data.train_examples": 640, "train.epochs": 2}
LONG = {"train.epochs": 100_000, "train.checkpoint_every": 50}


def overrides(entries):
    """Returns the flags that change fields of a config."""
    return [f"--config.{key}={value}" for key, value in entries.items()]


@pytest.fixture
def start_cluster():
    """A function that starts a process for each folder, with the task types `kinds`."""
    started = []

    def start(workdirs, *arguments, kinds=("worker", "worker")):
        hosts, processes = {}, []
        # The system gives no port below 32,768 to a client.
        for kind, port in zip(kinds, random.sample(range(10_000, 32_000), len(kinds)), strict=True):
            hosts.setdefault(kind, []).append(f"127.0.0.1:{port}")
        tasks = [(kind, index) for kind in hosts for index in range(len(hosts[kind]))]
        for (kind, index), workdir in zip(tasks, workdirs, strict=True):
            task = {"type": kind, "index": index}
            config = json.dumps({"cluster": hosts, "task": task})
            command = [sys.executable, "-m", "elu_zoo.bin.train", "--compile=off"]
            command += [f"--workdir={workdir}", *arguments]
            environment = {**os.environ, "TF_CONFIG": config}
            processes.append(
                subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
            )
            started.append(processes[-1])
        return processes

    yield start
    for process in started:
        with process:
            process.kill()


def wait_for_exit(processes, timeout=180):
    """Waits for processes; returns their exit codes and last lines of stderr."""
    outputs = [process.communicate(timeout=timeout)[1] for process in processes]
    codes = [process.returncode for process in processes]
    return codes, [(output.splitlines() or [""])[-1] for output in outputs]


def wait_for_checkpoint(workdir, step, processes):
    """Waits for a checkpoint later than iteration `step`; returns its iteration."""
    deadline = time.monotonic() + 120
    while True:
        names = [path.name for path in workdir.glob("checkpoints/step-*")]
        newest = int(max(names)[5:14]) if names else 0
        if newest > step:
            return newest
        assert time.monotonic() < deadline
        assert all(process.poll() is None for process in processes), wait_for_exit(processes)
        time.sleep(0.01)


@pytest.mark.slow
def test_two_workers_train_the_same_as_one_process(start_cluster, tmp_path, train, last_arrays):
    single, shared = tmp_path / "single", tmp_path / "shared"
    config = mnist_mlp_8x128.get_config("")
    config.update_from_flattened_dict(DIGITS)
    expected = train(config, single)
    arguments = "--config=mnist_mlp_8x128", *overrides(DIGITS)
    processes = start_cluster([shared, shared], *arguments, kinds=("chief", "worker"))
    codes, outputs = wait_for_exit(processes)
    assert codes == [0, 0], outputs
    pairs = list(zip(last_arrays(shared), last_arrays(single), strict=True))
    assert len(pairs) > 18
    assert max(np.abs(a - b).max() for a, b in pairs) <= 1e-6
    entry = json.loads((shared / "outcome.json").read_text())
    assert (entry["strategy"], entry["replicas"]) == ("multi_worker", 2)
    for key, value in expected["metrics"].items():
        assert entry["metrics"][key] == pytest.approx(value, rel=1e-3), key


def read_losses(workdir):
    rows = (workdir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(row)["train_loss"] for row in rows]


@pytest.mark.slow
@pytest.mark.nightly
def test_a_cluster_resumes_bit_identically_after_a_signal_and_killed_machines(
    start_cluster, tmp_path, last_arrays, assert_same_bits
):
    """A signal to one machine, or the loss of a machine, ends all machines."""
    config = "--config=quickstart:smoke=True", "--config.train.learning_rates=(0.005,)"
    shared, unstopped = tmp_path / "shared", tmp_path / "unstopped"
    processes = start_cluster([shared] * 2, *config, *overrides(LONG))
    wait_for_checkpoint(shared, 0, processes)
    processes[1].terminate()
    codes, outputs = wait_for_exit(processes, timeout=30)
    assert codes == [143, 143], outputs
    assert all("error: SIGTERM after iteration" in output for output in outputs)
    step = wait_for_checkpoint(shared, 0, [])
    assert f"after iteration {step} of" in outputs[0]

    for killed in 0, 1:
        processes = start_cluster([shared] * 2, *config, *overrides(LONG))
        step = wait_for_checkpoint(shared, step, processes)
        processes[killed].kill()
        killed_at = time.monotonic()
        codes, outputs = wait_for_exit(processes, timeout=60)
        assert time.monotonic() - killed_at < 30
        assert codes[killed] == -signal.SIGKILL and codes[1 - killed] == 1
        assert f"error: worker {killed} (127.0.0.1:" in outputs[1 - killed]
        assert "stopped answering" in outputs[1 - killed]
    step = wait_for_checkpoint(shared, 0, [])

    # The run ends soon after the newest checkpoint; an epoch has ten iterations.
    soon = {**LONG, "train.epochs": step // 10 + 10}
    arguments = *config, *overrides(soon), "--allow_config_change"
    for workdir in shared, unstopped:
        codes, outputs = wait_for_exit(start_cluster([workdir] * 2, *arguments))
        assert codes == [0, 0], outputs
    assert_same_bits(last_arrays(shared), last_arrays(unstopped))
    assert read_losses(shared) == read_losses(unstopped)


@pytest.mark.slow
def test_a_machine_that_hangs_ends_the_other_machine(start_cluster, tmp_path):
    shared = tmp_path / "shared"
    processes = start_cluster([shared] * 2, "--config=quickstart:smoke=True", *overrides(LONG))
    wait_for_checkpoint(shared, 0, processes)
    processes[1].send_signal(signal.SIGSTOP)
    codes, outputs = wait_for_exit(processes[:1], timeout=60)
    assert codes == [1] and "error: worker 1 (127.0.0.1:" in outputs[0]
