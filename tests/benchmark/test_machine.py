import importlib.metadata
import os
import socket

from elu_zoo.benchmark import machine


def test_hardware_and_installed_versions_are_described(monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGES", ("keras", "no_such_package"))
    description = machine.describe()
    assert description["cores"] == str(len(os.sched_getaffinity(0)))
    assert description["keras"] == importlib.metadata.version("keras")
    assert "no_such_package" not in description
    assert description["processor"] and description["memory"].endswith(" GiB")
    assert machine.line().startswith(f"date {description['date']}; processor ")


def test_the_host_name_and_the_home_folder_are_absent():
    text = str(machine.describe())
    assert socket.gethostname() not in text
    assert os.path.expanduser("~") not in text
