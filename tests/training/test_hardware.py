import os

import pytest
import tensorflow as tf

from elu_zoo.training import hardware


@pytest.mark.parametrize("gpus", [0, 2])
def test_processor_cores_and_gpus_are_described(gpus, monkeypatch):
    config = tf.config
    monkeypatch.setattr(config, "list_physical_devices", lambda _: ["gpu"] * gpus)
    monkeypatch.setattr(
        config.experimental, "get_device_details", lambda _: {"device_name": "H100"}
    )
    expected = [hardware.processor(), f"{os.cpu_count()} cores", *["H100"] * gpus]
    assert hardware.describe() == ", ".join(expected)


def test_without_proc_the_module_platform_names_the_processor(monkeypatch, tmp_path):
    monkeypatch.setattr(hardware, "Path", lambda _: tmp_path / "none")
    monkeypatch.setattr(hardware.platform, "processor", lambda: "")
    assert hardware.processor() == hardware.platform.machine()
