"""Trains on JAX the models of some rows of the table in rows.py.

KERAS_BACKEND=jax python ../no_tensorflow.py on_jax.py FOLDER NAME... writes two files
for each row NAME. NAME.npz has the initial weights, the losses of the first training
steps, and the logits after these steps. NAME.weights.h5 has the weights after these
steps.
"""

import sys
from pathlib import Path

import keras
import numpy as np
from rows import JAX_STEPS, TRAINED, examples, logits, schedule

from elu_zoo.training.run import Learner
from elu_zoo.training.step import compilation, jax_step
from elu_zoo.weights import hdf5


def train(row, path):
    """Trains the model of a row and writes the two files."""
    model = row.make()
    initial = {f"initial{i:03d}": np.array(v) for i, v in enumerate(model.weights)}
    optimizer = keras.optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    device = jax_step.create_strategy("auto", None)
    chosen = compilation.choose(model, 1, "auto", JAX_STEPS.stop)
    data = examples(row)
    learner = Learner(model, optimizer, row.objective, 8, row.augmentation)
    step = jax_step.JaxStep(learner, data, device, chosen)
    losses = step.run(*schedule(row, JAX_STEPS))
    step.sync()
    weights = path.with_name(f"{row.name}.weights.h5")
    weights.write_bytes(hdf5.write(model))
    # test_on_jax.py reads these weights from the file, where they are in float16.
    hdf5.assign(model, hdf5.read(weights, hdf5.shapes(model), None))
    np.savez(path, losses=losses, logits=logits(model, data.images), **initial)


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    for row in TRAINED:
        if row.name in names:
            train(row, Path(folder, f"{row.name}.npz"))
