import importlib.metadata
import os
import socket

from elu_zoo.benchmark import machine


def test_hardware_and_versions():
    found = machine.describe()
    assert found["cores"] == str(len(os.sched_getaffinity(0)))
    assert found["tensorflow"] == importlib.metadata.version("tensorflow")
    assert found["keras"] == importlib.metadata.version("keras")
    assert found["processor"] and found["memory"].endswith(" GiB")
    assert all(isinstance(value, str) for value in found.values())


def test_nothing_that_tells_whose_machine_it_is():
    text = str(machine.describe())
    assert socket.gethostname() not in text
    assert os.path.expanduser("~") not in text


def test_without_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "Path", lambda _: tmp_path / "none")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    assert machine.describe()["processor"] == machine.platform.machine()


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGES", ("keras", "no_such_package"))
    found = machine.describe()
    assert "keras" in found and "no_such_package" not in found
