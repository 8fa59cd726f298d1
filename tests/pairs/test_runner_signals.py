"""After a signal, unfinished runs are saved, and no other run starts."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import types

import pytest
from processes import DEADLINE, THREADS, is_alive, processes, wait_until

from elu_zoo import errors
from elu_zoo.pairs import runner, worker


@pytest.fixture
def signal_after():
    """Returns a function that sends a signal to this process once files exist.

    A signal that nothing handles is an error.
    """

    def unhandled(*_):
        raise RuntimeError("nothing handled the signal")

    numbers, threads = (signal.SIGTERM, signal.SIGINT), []
    previous = {number: signal.signal(number, unhandled) for number in numbers}

    def schedule(number, *paths):
        def send():
            wait_until(lambda: all(p.exists() and p.stat().st_size for p in paths))
            os.kill(os.getpid(), number)

        threads.append(threading.Thread(target=send))
        threads[-1].start()

    yield schedule
    for thread in threads:
        thread.join()
    assert all(signal.getsignal(number) is unhandled for number in numbers)
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_all_runs(stand_in, signal_after, tmp_path, number):
    trials = "lasting1", "lasting2"
    signal_after(number, *(tmp_path / f"{trial}.under_way" for trial in trials))
    words = f"{number.name}: all runs stopped. Run the same command again"
    with pytest.raises(errors.Interrupted, match=words):
        stand_in(" ".join(trials))
    assert all((tmp_path / f"{trial}.saved").exists() for trial in trials)
    assert not any(map(is_alive, processes(tmp_path)))
    assert multiprocessing.active_children() == []
    assert THREADS not in os.environ


@pytest.mark.parametrize("start", ["start", "start_late"])
def test_idle_and_starting_workers_do_not_end_the_other_run(
    stand_in, signal_after, tmp_path, monkeypatch, worker_stand_ins, start
):
    monkeypatch.setattr(worker, "start", getattr(worker_stand_ins, start))
    signal_after(signal.SIGTERM, tmp_path / "quick1.begun", tmp_path / "lasting2.under_way")
    with pytest.raises(errors.Interrupted, match="SIGTERM: all runs stopped"):
        stand_in("quick1 lasting2")
    assert (tmp_path / "lasting2.saved").exists()


def test_after_a_signal_no_run_begins(stand_in, signal_after, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RUNS_PER_PROCESS", 1)
    plan = types.SimpleNamespace(workdir=tmp_path)
    results = runner.run(["quick1", "quick2"], plan, None, 1)
    assert next(results)[0] == "quick1"
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(errors.Interrupted, match="SIGTERM: all runs stopped"):
        next(results)
    assert not (tmp_path / "quick2.begun").exists()


@pytest.mark.parametrize(
    ("what", "awaited"),
    [("train", "lasting1.under_way"), ("nothing", "logs/*.txt")],
    ids=["training", "idle"],
)
def test_a_worker_saves_and_ends_when_its_parent_dies(modules, tmp_path, what, awaited):
    command = [sys.executable, "parent.py", tmp_path, what, awaited]
    done = subprocess.run(
        command, timeout=DEADLINE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == -signal.SIGKILL
    (process,) = processes(tmp_path)
    try:
        wait_until(lambda: not is_alive(process), 60)
    finally:
        if is_alive(process):
            os.kill(process, signal.SIGKILL)
    assert (tmp_path / "lasting1.saved").exists() == (what == "train")
