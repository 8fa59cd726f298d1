"""Fixtures of a user's module and of functions that replace runs in workers."""

import sys
import types

import pytest
from processes import OWN_ACTIVATION, PARENT, THREADS, WORKER_STAND_INS

from elu_zoo.pairs import runner, worker


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """Changes to a folder with a user's module, and adds a worker module to the path.

    The worker module is in another folder, so that only the user's module needs the
    current folder.
    """
    folder = tmp_path_factory.mktemp("modules")
    (folder / "own_activation.py").write_text(OWN_ACTIVATION)
    (folder / "parent.py").write_text(PARENT)
    (folder / "on_path").mkdir()
    (folder / "on_path" / "worker_stand_ins.py").write_text(WORKER_STAND_INS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder / "on_path"), *filter(None, sys.path)])
        patch.chdir(folder)
        patch.delenv(THREADS, raising=False)
        yield folder
    sys.modules.pop("worker_stand_ins", None)


@pytest.fixture(scope="module")
def worker_stand_ins(modules):
    import worker_stand_ins

    return worker_stand_ins


@pytest.fixture
def stand_in(worker_stand_ins, monkeypatch, tmp_path):
    """Returns a function that runs the named stand-ins and returns results by name."""
    monkeypatch.setattr(worker, "perform", worker_stand_ins.perform)
    plan = types.SimpleNamespace(workdir=tmp_path)
    return lambda trials, jobs=2: dict(runner.run(trials.split(), plan, None, jobs))
