import importlib.metadata
import os
import socket

from elu_zoo.benchmark import machine


def test_hardware_and_versions_are_described_without_host_and_user(monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGES", ("keras", "no_such_package"))
    description = machine.describe()
    assert description["cores"] == str(len(os.sched_getaffinity(0)))
    assert description["keras"] == importlib.metadata.version("keras")
    assert "no_such_package" not in description and description["processor"]
    line = machine.line()
    assert line.startswith(f"date {description['date']}; processor ")
    assert socket.gethostname() not in line and os.path.expanduser("~") not in line
