import os

import pytest
import tensorflow as tf

from elu_zoo.training import hardware


@pytest.mark.parametrize("gpus", [0, 2])
def test_processor_cores_and_gpus_are_described(gpus, monkeypatch, tmp_path):
    """Without /proc, the module `platform` names the processor."""
    details = {"device_name": "H100"}
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda _: ["gpu"] * gpus)
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _: details)
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast CPU\nfpu\t: yes\n")
    monkeypatch.setattr(hardware, "Path", lambda _: tmp_path / "cpuinfo")
    expected = ["Fast CPU", f"{os.cpu_count()} cores", *["H100"] * gpus]
    assert hardware.describe() == ", ".join(expected)
    monkeypatch.setattr(hardware, "Path", lambda _: tmp_path / "none")
    monkeypatch.setattr(hardware.platform, "processor", lambda: "")
    assert hardware.processor() == hardware.platform.machine()
