"""Keras' `fit` with Muon, for test_muon.py.

The command `KERAS_BACKEND=jax python ../no_tensorflow.py muon_fit.py FILE` writes the
losses of the epochs to FILE, as JSON.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np

from elu_zoo.initializers import FanInNormal
from elu_zoo.training.step.muon import Muon


def draw():
    """Returns 64 images and their labels, which depend on one pixel."""
    images = np.random.default_rng(0).normal(size=(64, 6, 6, 3)).astype("float32")
    return images, (images[:, 0, 0, 0] > 0).astype("int32")


def fit(jit_compile=True):
    """Returns a trained network, and its loss in each of four epochs."""
    layers = [
        keras.layers.Flatten(),
        keras.layers.Dense(8, "elu", kernel_initializer=FanInNormal(1.0, 1)),
        keras.layers.Dense(4, name="classifier", kernel_initializer=FanInNormal(1.0, 2)),
    ]
    model = keras.Sequential([keras.Input((6, 6, 3)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    muon = Muon(0.05, compute_dtype="float32", sgd_factor=1.0)
    model.compile(muon, loss, jit_compile=jit_compile)
    history = model.fit(*draw(), 16, epochs=4, shuffle=False, verbose=0)
    return model, history.history["loss"]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(fit()[1]))
