"""Trains rows of the table on JAX.

KERAS_BACKEND=jax python ../no_tensorflow.py on_jax.py FOLDER NAME... writes for each
row NAME.npz, with initial weights, losses of the first steps and logits after them,
and NAME.weights.h5, with the weights after these steps.
"""

import sys
from pathlib import Path

import keras
import numpy as np
from rows import JAX_STEPS, TRAINED, examples, logits, schedule

from elu_zoo.training import step_jax
from elu_zoo.training.learner import Learner
from elu_zoo.weights.hdf5 import weight_file


def drive(row, path):
    model = row.make()
    initial = {f"initial{i:03d}": np.array(v) for i, v in enumerate(model.weights)}
    optimizer = keras.optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    device = step_jax.create_strategy("auto", None)
    policy = step_jax.choose_compilation(model, 1, "auto", JAX_STEPS.stop)
    data = examples(row)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    step = step_jax.JaxStep(learner, data, device, policy)
    losses = step.run(*schedule(row, JAX_STEPS))
    weights = path.with_name(f"{row.name}.weights.h5")
    weights.write_bytes(weight_file.write(model))
    weight_file.assign(
        model, weight_file.read(weights, weight_file.shapes(model), None)
    )  # rounded to float16
    np.savez(path, losses=losses, logits=logits(model, data.images), **initial)


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    for row in TRAINED:
        if row.name in names:
            drive(row, Path(folder, f"{row.name}.npz"))
