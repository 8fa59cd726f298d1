"""A user's module, and stand-ins for runs in worker processes."""

import sys
import types

import pytest
from processes import OF_PROCESSES, OWN_UNITS, PARENT, THREADS

from elu_zoo.paper.run import runner, worker


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The current folder with a user's module; the module of workers is elsewhere."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "own_units.py").write_text(OWN_UNITS)
    (folder / "parent.py").write_text(PARENT)
    (folder / "found").mkdir()
    (folder / "found" / "of_processes.py").write_text(OF_PROCESSES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder / "found"), *filter(None, sys.path)])
        patch.chdir(folder)
        patch.delenv(THREADS, raising=False)
        yield folder
    sys.modules.pop("of_processes", None)


@pytest.fixture(scope="module")
def of_processes(modules):
    import of_processes

    return of_processes


@pytest.fixture
def stand_in(of_processes, monkeypatch, tmp_path):
    """Runs stand-ins by their names and returns their results by name."""
    monkeypatch.setattr(worker, "perform", of_processes.perform)
    plan = types.SimpleNamespace(workdir=tmp_path)
    return lambda trials, jobs=2: dict(runner.run(trials.split(), plan, None, jobs))
