"""The runner executes runs in worker processes, and restarts crashed workers."""

import os
import types

import pytest
from processes import CORES, ELU, OWN, THREADS, is_alive, processes

from elu_zoo import errors
from elu_zoo.pairs import runner, worker
from elu_zoo.pairs.spec import Plan
from elu_zoo.training.step.resident import ResidentStep


@pytest.fixture(scope="module")
def session(worker_stand_ins, tmp_path_factory):
    """Returns a plan, and the rows of two runs in one worker."""
    workdir = tmp_path_factory.mktemp("session")
    plan = Plan("smoke", None, workdir, module="own_activation.py")
    trials = [ELU, OWN]
    return plan, dict(runner.run(trials, plan, worker_stand_ins.measure, 1))


@pytest.mark.slow
def test_each_run_has_its_measured_rows(session):
    _, found = session
    assert found == {
        trial: [{"step": 2, "activation": trial.activation, "threads": str(CORES)}]
        for trial in (ELU, OWN)
    }


@pytest.mark.slow
def test_a_worker_writes_its_output_to_a_log(session):
    plan, _ = session
    assert len(processes(plan.workdir) - {os.getpid()}) == 1
    text = "".join(path.read_text() for path in (plan.workdir / "logs").iterdir())
    for trial in (ELU, OWN):
        assert f"measured {trial.label}\n" in text
    assert text.count("step 2, epoch 1, train_loss ") == 2


@pytest.mark.slow
def test_a_finished_run_is_not_trained_again(session, worker_stand_ins, monkeypatch):
    plan, found = session
    monkeypatch.setenv(THREADS, found[ELU][0]["threads"])
    monkeypatch.setattr(ResidentStep, "run", lambda *_: pytest.fail("it trains"))
    assert worker.perform(ELU, plan, worker_stand_ins.measure) == found[ELU]


def test_workers_share_the_cores_unless_the_user_sets_threads(stand_in, monkeypatch):
    for jobs, threads in ((1, CORES), (2, max(1, CORES // 2)), (10 * CORES, 1)):
        ((received, group),) = stand_in("quick", jobs).values()
        assert received == str(threads) and group != os.getpgrp()
        assert THREADS not in os.environ
    monkeypatch.setenv(THREADS, "7")
    assert stand_in("quick")["quick"][0] == "7"
    assert os.environ[THREADS] == "7"


@pytest.mark.parametrize(("trials", "jobs"), [("meeting1 meeting2", 2), ("quick1 quick2", 1)])
def test_the_number_of_workers_is_jobs(stand_in, tmp_path, trials, jobs):
    assert set(stand_in(trials, jobs)) == set(trials.split())
    assert len(processes(tmp_path)) == jobs


def test_workers_are_replaced_after_some_runs(stand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RUNS_PER_PROCESS", 2)
    trials = " ".join(f"quick{i}" for i in range(5))
    assert set(stand_in(trials)) == set(trials.split())
    assert len(processes(tmp_path)) >= 3


def test_two_crashes_without_a_result_between_them_raise_an_error(stand_in, tmp_path):
    # A shaky run crashes once; a pool takes four runs.
    trials = "shaky1 quick2 quick3 quick4 shaky5"
    assert set(stand_in(trials, jobs=1)) == set(trials.split())
    before = dict(os.environ)
    with pytest.raises(errors.ResourceError, match="crashed .* with a lower --jobs"):
        stand_in("dying", jobs=1)
    assert os.environ == before
    assert len(processes(tmp_path)) == 4 + 2
    assert not any(map(is_alive, processes(tmp_path)))


@pytest.mark.parametrize(
    ("trial", "error"), [("failing2", errors.DataError), ("crashing2", errors.ResourceError)]
)
def test_after_an_error_other_runs_are_saved_and_idle_workers_end(stand_in, tmp_path, trial, error):
    with pytest.raises(error):
        stand_in(f"lasting1 quick3 {trial}", jobs=3)
    assert (tmp_path / "lasting1.saved").exists()
    assert not any(map(is_alive, processes(tmp_path)))


def test_different_warnings_of_new_logs_are_found(tmp_path):
    (tmp_path / "logs").mkdir()
    for name, text in ("1", "warning: a\nstep 1\n"), ("2", "warning: a\nwarning: b"):
        (tmp_path / "logs" / f"{name}.txt").write_text(text)
    assert worker.warnings(tmp_path, 0) == ["a", "b"]
    os.utime(tmp_path / "logs" / "2.txt", (5, 5))
    assert worker.warnings(tmp_path, 6) == ["a"]


@pytest.mark.parametrize(("cores", "gibibytes", "jobs"), [(2, 64, 2), (16, 63.9, 15), (4, 1, 1)])
def test_cores_memory_and_gpu_decide_the_jobs(monkeypatch, cores, gibibytes, jobs):
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
