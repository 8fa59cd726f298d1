"""Runs of an experiment in processes of their own, real ones and stand-ins."""

import json
import os
import signal
import threading
import types

import pytest
from processes import CORES, DIVERGING, ELU, OWN, THREADS, is_alive, processes

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.paper.run import runner, worker
from elu_zoo.paper.run.spec import Plan
from elu_zoo.training.step_resident import ResidentStep


@pytest.fixture(scope="module")
def session(of_processes, tmp_path_factory):
    """A plan, and what three runs in two processes come back with."""
    load.load("mnist_5k")  # decoded before: not by two processes at once
    plan = Plan("smoke", None, None, tmp_path_factory.mktemp("session"))
    trials, named = [ELU, DIVERGING, OWN], ("elu", "own_units:third_power")
    return plan, dict(runner.run(trials, plan, of_processes.measure, 2, named))


def test_rows(session):
    _, found = session
    assert set(found) == {ELU, DIVERGING, OWN}
    threads = str(max(1, CORES // 2))
    for trial in (ELU, OWN):
        row = {"step": 2, "unit": trial.activation, "threads": threads}
        assert found[trial] == [row]


def test_a_run_that_diverges(session):
    plan, found = session
    assert found[DIVERGING].startswith("The loss of iteration 1 is ")
    assert "at learning rate 1" in found[DIVERGING]
    text = (DIVERGING.folder(plan) / "diverged.json").read_text()
    assert json.loads(text) == {"reason": found[DIVERGING]}


def test_logs(session):
    """Of two processes: what runs say, and what is measured."""
    plan, _ = session
    assert len(processes(plan.workdir) - {os.getpid()}) == 2
    text = "".join(path.read_text() for path in (plan.workdir / "logs").iterdir())
    for trial in (ELU, OWN):
        assert f"measured {trial.label}\n" in text
    assert text.count("step 2, epoch 1, train_loss ") == 2


def test_nothing_is_trained_twice(session, of_processes, monkeypatch):
    plan, found = session
    monkeypatch.setenv(THREADS, found[ELU][0]["threads"])
    monkeypatch.setattr(ResidentStep, "run", lambda *_: pytest.fail("it trains"))
    for trial in (ELU, DIVERGING):
        again = worker.perform(trial, plan, of_processes.measure)
        assert again == found[trial]


def test_no_trials(stand_in, tmp_path):
    assert stand_in("") == {}
    assert not (tmp_path / "logs").exists()


def test_threads(stand_in, monkeypatch):
    """The cores' share, unless the user says otherwise; other groups than this one."""
    for jobs, threads in ((1, CORES), (2, max(1, CORES // 2)), (10 * CORES, 1)):
        ((found, group),) = stand_in("quick", jobs).values()
        assert found == str(threads) and group != os.getpgrp()
        assert THREADS not in os.environ
    monkeypatch.setenv(THREADS, "7")
    assert stand_in("quick")["quick"][0] == "7"
    assert os.environ[THREADS] == "7"


def test_two_at_once(stand_in, tmp_path):
    assert set(stand_in("meeting1 meeting2")) == {"meeting1", "meeting2"}
    assert len(processes(tmp_path)) == 2


def test_one_after_the_other(stand_in, tmp_path):
    assert list(stand_in("alone1 alone2 alone3", jobs=1)) == [
        *("alone1", "alone2", "alone3")
    ]
    assert len(processes(tmp_path)) == 1


def test_processes_take_turns(stand_in, tmp_path, monkeypatch):
    """A process ends after some runs, and another one goes on."""
    monkeypatch.setattr(runner, "_TRIALS_A_PROCESS", 2)

    def late(*_):
        raise TimeoutError("runs are left, and no process takes them")

    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(100)
    try:
        trials = " ".join(f"quick{i}" for i in range(9))
        assert set(stand_in(trials)) == set(trials.split())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert len(processes(tmp_path)) >= 5


def test_a_process_that_dies(stand_in, tmp_path):
    """Others take its place, until it dies again where nothing else ended."""
    assert set(stand_in("shaky1 quick2 shaky3", jobs=1)) == {
        *("shaky1", "quick2", "shaky3")
    }
    before = dict(os.environ)
    with pytest.raises(errors.ResourceError, match="died .* Take fewer --jobs"):
        stand_in("dying", jobs=1)
    assert os.environ == before
    assert len(processes(tmp_path)) == 3 + 2
    assert not any(map(is_alive, processes(tmp_path)))


def test_an_error_of_a_run(stand_in, tmp_path):
    """It is told at once: what else is under way is saved."""
    with pytest.raises(errors.DataError, match="no images for failing2"):
        stand_in("lasting1 failing2")
    assert (tmp_path / "lasting1.saved").exists()


def test_in_another_thread(stand_in):
    """Where Python takes no handlers."""
    before, found = signal.getsignal(signal.SIGTERM), []
    body = threading.Thread(target=lambda: found.append(stand_in("quick1 quick2")))
    body.start()
    body.join()
    assert set(found[0]) == {"quick1", "quick2"}
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("cores", "gibibytes", "jobs"),
    [(1, 64, 1), (2, 64, 2), (16, 64, 16), (16, 63.9, 15), (2, 7.9, 1), (4, 1, 1)],
)
def test_default_jobs(monkeypatch, cores, gibibytes, jobs):
    """One a core and for 4 GiB; one alone where there is a GPU."""
    text = f"MemFree: 1 kB\nMemAvailable:  {int(gibibytes * 2**20)} kB\nActive: 2 kB\n"
    gpu = [False]

    def path(name):
        if name.endswith("meminfo"):
            return types.SimpleNamespace(read_text=lambda: text)
        return types.SimpleNamespace(exists=lambda: gpu[0])

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(runner, "Path", path)
    assert runner.default_jobs() == jobs
    gpu[0] = True
    assert runner.default_jobs() == 1
