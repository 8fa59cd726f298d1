"""Outputs of the layers on JAX, compared with TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

import jax_layers
import no_tensorflow
import numpy as np
import pytest

EXACT = ("mask", "crops", "maxima", "subtracted", "centres")


def test_layers_compute_the_same_on_jax(whitening, mean_name, tmp_path):
    pytest.importorskip("jax")
    file, script = tmp_path / "found.npz", Path(jax_layers.__file__)
    done = subprocess.run(
        [sys.executable, no_tensorflow.__file__, script, file, whitening, mean_name],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = jax_layers.compute(whitening, mean_name)
    with np.load(file) as found:
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            assert found[name].dtype == array.dtype, name
            tolerance = 0 if name.startswith(EXACT) else 1e-6
            scale = np.abs(array).max()
            np.testing.assert_allclose(
                found[name] / scale, array / scale, atol=tolerance, err_msg=name
            )
            assert name.startswith("mask") or np.any(array), name
