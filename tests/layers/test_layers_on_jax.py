"""The outputs of the layers on JAX equal the outputs on TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

import jax_layers
import no_tensorflow
import numpy as np
import pytest

# Outputs whose names start with these words must be exactly equal.
EXACT = ("mask", "crops", "maxima", "subtracted", "centres")


@pytest.mark.slow
def test_outputs_on_jax_equal_outputs_on_tensorflow(whitening, mean_name, tmp_path):
    pytest.importorskip("jax")
    file, script = tmp_path / "outputs.npz", Path(jax_layers.__file__)
    process = subprocess.run(
        [sys.executable, no_tensorflow.__file__, script, file, whitening, mean_name],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    expected = jax_layers.compute(whitening, mean_name)
    with np.load(file) as outputs:
        assert outputs.keys() == expected.keys()
        for name, array in expected.items():
            assert outputs[name].dtype == array.dtype, name
            tolerance = 0 if name.startswith(EXACT) else 1e-6
            scale = np.abs(array).max()
            np.testing.assert_allclose(
                outputs[name] / scale, array / scale, atol=tolerance, err_msg=name
            )
            assert name.startswith("mask") or np.any(array), name
