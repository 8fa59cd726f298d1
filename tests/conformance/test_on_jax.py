"""Training of the rows of the table on JAX, compared with TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import no_tensorflow
import numpy as np
import pytest
import tensorflow as tf
from rows import JAX_STEPS, LARGE, TRAINED, each, examples, logits, schedule

from elu_zoo.training.run import Learner
from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.resident import ResidentStep
from elu_zoo.weights import hdf5

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def on_jax(request, tmp_path_factory):
    """A function that returns arrays and the weight file of a row trained on JAX."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("jax")
    chosen = {
        item.callspec.params["row"].name
        for item in request.session.items
        if item.module is request.module
    }
    script = no_tensorflow.__file__, Path(__file__).with_name("on_jax.py")
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    process = subprocess.run(
        [sys.executable, *script, folder, *chosen],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr

    def find(row):
        with np.load(folder / f"{row.name}.npz") as arrays:
            return dict(arrays), folder / f"{row.name}.weights.h5"

    return find


def train(row):
    """Returns the losses of the first steps on TensorFlow."""
    model = row.make()
    optimizer = keras.optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    compilation = Compilation(False, JAX_STEPS.stop)
    step = ResidentStep(learner, examples(row), tf.distribute.get_strategy(), compilation)
    return step.run(*schedule(row, JAX_STEPS))


@each(TRAINED, nightly=LARGE)
def test_weights_losses_and_logits_on_jax_equal_those_on_tensorflow(row, on_jax):
    arrays, path = on_jax(row)
    model = row.make()
    initial = [arrays[name] for name in arrays if name.startswith("initial")]
    for ours, value in zip(model.weights, initial, strict=True):
        np.testing.assert_array_equal(value, np.asarray(ours))
    if not row.random:
        losses = train(row)
        assert losses[-1] != losses[0]
        np.testing.assert_allclose(arrays["losses"], losses, rtol=1e-5)
    hdf5.assign(model, hdf5.read(path, hdf5.shapes(model), None))
    expected, computed = arrays["logits"], logits(model, examples(row).images)
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(computed, expected, rtol=0, atol=limit)
