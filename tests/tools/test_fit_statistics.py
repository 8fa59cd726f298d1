"""tools/fit_statistics.py: the file that training finds."""

import fit_statistics
import numpy as np

from elu_zoo.data import dataset, load, statistics
from elu_zoo.layers import statistics_file as stored


def test_the_tool_writes_to_the_folder_of_weights(tmp_path, monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, (60, 4, 4, 3), "uint8")
    split = dataset.Split(images, np.zeros(60, "int32"))
    data = dataset.ImageData("tiny", split, split, split, ("0",), "", "", fingerprint="tiny")
    assert fit_statistics.WEIGHTS == stored.find("cifar10").parent
    monkeypatch.setattr(fit_statistics, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(load, "load", {"tiny": data}.get)
    fit_statistics.main(["", "tiny"])
    (path,) = (tmp_path / "weights").iterdir()
    assert path.stem == statistics.find_or_fit("gcn_zca", data)
