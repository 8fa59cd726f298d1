import importlib.metadata
import os
import socket

from elu_zoo.benchmark import machine


def test_hardware_and_installed_versions_are_described(monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGES", ("keras", "no_such_package"))
    found = machine.describe()
    assert found["cores"] == str(len(os.sched_getaffinity(0)))
    assert found["keras"] == importlib.metadata.version("keras")
    assert "no_such_package" not in found
    assert found["processor"] and found["memory"].endswith(" GiB")
    assert machine.line().startswith(f"date {found['date']}; processor ")


def test_the_names_of_machine_and_user_are_absent():
    text = str(machine.describe())
    assert socket.gethostname() not in text
    assert os.path.expanduser("~") not in text


def test_the_processor_is_named_without_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "Path", lambda _: tmp_path / "none")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    assert machine.describe()["processor"] == machine.platform.machine()
