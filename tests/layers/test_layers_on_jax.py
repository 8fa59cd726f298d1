"""Dropout masks and Cutout on JAX equal those on TensorFlow.

tests/conformance/test_on_jax.py trains networks with all other layers on JAX.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from elu_zoo.layers import Cutout
from elu_zoo.layers.dropout import kept_values

IMAGES = np.random.default_rng(0).integers(0, 256, (4, 5, 7, 3)).astype("float32")
CENTRES = np.array([[0, 0], [4, 6], [2, 3], [0, 5]], "int32")
MASK = (2**31 - 1, 165_000, np.array([0, 1, 49_999, 1], "int32"), (7, 5), 0.1)
PROGRAM = """
import sys
import jax, keras, numpy as np
from elu_zoo.layers import CeilMaxPooling2D
from test_layers_on_jax import CENTRES, Cutout, IMAGES, MASK, kept_values
assert keras.backend.backend() == "jax"
sizes = jax.export.symbolic_shape("n, height, width, 2")  # as in an export
maps = jax.ShapeDtypeStruct(sizes, np.float32)
assert len(jax.eval_shape(CeilMaxPooling2D(3, 2), maps).shape) == 4
np.savez(sys.argv[1], mask=kept_values(*MASK), cut_out=Cutout(3)(IMAGES, CENTRES))
"""


@pytest.mark.slow
def test_outputs_on_jax_equal_outputs_on_tensorflow(tmp_path):
    pytest.importorskip("jax")
    command = [sys.executable, "-c", PROGRAM, tmp_path / "x.npz"]
    paths = {"PYTHONPATH": os.path.dirname(__file__), "KERAS_BACKEND": "jax"}
    subprocess.run(command, env={**os.environ, **paths}, check=True)
    with np.load(tmp_path / "x.npz") as outputs:
        np.testing.assert_array_equal(outputs["mask"], kept_values(*MASK))
        np.testing.assert_array_equal(outputs["cut_out"], Cutout(3)(IMAGES, CENTRES))
