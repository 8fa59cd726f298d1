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
from rows import JAX_STEPS, TRAINED, examples, logits, schedule

from elu_zoo.training.step.compilation import Compilation
from elu_zoo.training.step.learner import Learner
from elu_zoo.training.step.resident import ResidentStep
from elu_zoo.weights import hdf5

pytestmark = pytest.mark.slow
each_row = pytest.mark.parametrize("row", TRAINED, ids=lambda row: row.name)


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
    process = subprocess.run(
        [
            sys.executable,
            no_tensorflow.__file__,
            Path(__file__).with_name("on_jax.py"),
            folder,
            *chosen,
        ],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr

    def find(row):
        with np.load(folder / f"{row.name}.npz") as arrays:
            return dict(arrays), folder / f"{row.name}.weights.h5"

    return find


@each_row
def test_initial_weights_are_bit_equal(row, on_jax):
    arrays, _ = on_jax(row)
    weights = [np.asarray(variable) for variable in row.make().weights]
    assert [name for name in arrays if name.startswith("initial")] == [
        f"initial{i:03d}" for i in range(len(weights))
    ]
    for index, value in enumerate(weights):
        np.testing.assert_array_equal(arrays[f"initial{index:03d}"], value)


@pytest.mark.parametrize(
    "row", [row for row in TRAINED if not row.random], ids=lambda row: row.name
)
def test_losses_of_the_first_steps_are_equal_up_to_rounding(row, on_jax):
    model = row.make()
    optimizer = keras.optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    strategy = tf.distribute.get_strategy()
    compilation = Compilation(False, JAX_STEPS.stop)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    step = ResidentStep(learner, examples(row), strategy, compilation)
    losses = step.run(*schedule(row, JAX_STEPS))
    assert losses[-1] != losses[0]
    np.testing.assert_allclose(on_jax(row)[0]["losses"], losses, rtol=1e-5)


@each_row
def test_weights_trained_on_jax_give_the_same_logits_on_tensorflow(row, on_jax):
    arrays, path = on_jax(row)
    model = row.make()
    hdf5.assign(model, hdf5.read(path, hdf5.shapes(model), None))
    expected = arrays["logits"]
    limit = 1e-5 * max(1, np.abs(expected).max())
    computed = logits(model, examples(row).images)
    np.testing.assert_allclose(computed, expected, rtol=0, atol=limit)
