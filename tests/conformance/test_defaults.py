"""Every network builds without arguments, predicts, and is exported at its full size."""

import numpy as np
import pytest
from rows import NIGHTLY

import elu_zoo
from elu_zoo import registry
from elu_zoo.export import predictor
from elu_zoo.export.saved_model import export_saved_model, load_saved_model

# The other networks take 5 to 25 s; elu_imagenet_15 takes 50 s and 4 GB.
MARKS = {"mnist_mlp_8x128": (), "elu_imagenet_15": NIGHTLY}
MARKED = [(name, MARKS.get(name, pytest.mark.slow)) for name in registry.network_modules()]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in MARKED])
def test_a_network_without_arguments_predicts_and_is_exported(name, tmp_path):
    model = elu_zoo.get_model(name)
    images = np.random.default_rng(0).integers(0, 256, (1, *model.input_shape[1:]))
    images = images.astype("uint8")
    outputs = np.asarray(model(images))
    scale = np.abs(outputs).max()
    assert 0 < scale < np.inf
    description = predictor.description(model, name)
    exported = load_saved_model(export_saved_model(model, tmp_path, name=name, **description))
    answer = exported.predict(images)
    if not registry.entry(name).is_autoencoder:
        difference = answer["logits"] - outputs
        assert np.abs(difference).max() <= 1e-5 * scale
