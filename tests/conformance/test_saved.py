"""Every row of the table, saved in every format and loaded again."""

import json
import pickle

import keras
import numpy as np
import pytest
import rows
from rows import QUICK, QUICK_LAYERS, ROWS, each, examples, logits, scramble

from elu_zoo import activations, files, registry
from elu_zoo.export.saved_model import Autoencoder, export_saved_model, load_saved_model
from elu_zoo.weights import hdf5

each_row = each(ROWS)


def test_every_network_activation_and_preprocessing_has_a_row():
    covered = {name for row in ROWS for name in row.covers}
    # Other tests register networks and activations too.
    networks = registry.network_modules()
    kinds = [registry.entry(name).preprocessing["kind"] for name in networks]
    known = [n for n in activations.names() if activations.describe(n)["name"] == n]
    assert {*networks} <= {name for row in rows.NETS for name in row.covers}
    assert {*known, *kinds} <= covered


def test_every_layer_has_a_row():
    names = {
        name
        for name, registered in keras.saving.get_custom_objects().items()
        if name.startswith("elu_zoo>")
        and isinstance(registered, type)
        and issubclass(registered, keras.layers.Layer)
        and registered.__module__.startswith("elu_zoo.")
    }
    assert len(names) >= 9
    missing, covered = names, {"elu_zoo>Cutout"}  # by tests/training/step/test_augmentation.py
    makes = [lambda row=row: row.augmentation for row in ROWS] + [row.make for row in ROWS]
    for make in makes:
        if missing == covered:
            break
        config = json.dumps(keras.saving.serialize_keras_object(make()))
        missing = {n for n in missing if f'"registered_name": "{n}"' not in config}
    assert missing == covered


@each_row
def test_logits_are_equal_after_loading_weight_files(row, tmp_path):
    model, by_keras, ours, own = (row.make() for _ in range(4))
    scramble(model)
    path = tmp_path / "x.weights.h5"
    model.save_weights(path)
    by_keras.load_weights(path)
    hdf5.assign(ours, hdf5.read(path, hdf5.shapes(ours), None))
    content = hdf5.write(model)
    path.write_bytes(content)
    hdf5.assign(own, hdf5.read(path, hdf5.shapes(own), files.sha256(content)))
    images = examples(row).images
    for loaded in (by_keras, ours, own):
        np.testing.assert_array_equal(logits(loaded, images), logits(model, images))


@pytest.mark.slow
@each_row
def test_logits_and_optimizer_are_equal_after_loading_a_keras_file(row, tmp_path):
    model, data = row.make(), examples(row)
    loss, targets = "mse", data.images / 255
    if not row.autoencoder:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        targets = data.labels
    # XLA would not change the file, and takes a second to compile a convolution.
    jit_compile = False if row.registered else "auto"
    optimizer = keras.optimizers.SGD(row.rate, momentum=0.9)
    model.compile(optimizer, loss, jit_compile=jit_compile)
    model.fit(data.images, targets, batch_size=8, epochs=2, verbose=0)
    model.save(tmp_path / "x.keras")
    loaded = keras.models.load_model(tmp_path / "x.keras")
    np.testing.assert_array_equal(logits(loaded, data.images), logits(model, data.images))
    saved = [np.asarray(v) for v in model.optimizer.variables]
    assert [v.path for v in loaded.optimizer.variables] == [
        v.path for v in model.optimizer.variables
    ]
    for value, variable in zip(saved, loaded.optimizer.variables, strict=True):
        np.testing.assert_array_equal(np.asarray(variable), value)
    assert int(loaded.optimizer.iterations.numpy()) == 4


@each(ROWS, QUICK_LAYERS)
def test_logits_are_equal_after_from_config(row):
    model = row.make()
    config = pickle.loads(pickle.dumps(model.get_config()))  # noqa: S301
    rebuilt = keras.Model.from_config(config)
    rebuilt.set_weights(model.get_weights())
    images = examples(row).images
    np.testing.assert_array_equal(logits(rebuilt, images), logits(model, images))
    assert rebuilt.get_config() == model.get_config()


@each(ROWS, QUICK[:2])
def test_logits_of_a_saved_model_equal_the_model(row, tmp_path):
    model = row.make()
    scramble(model)
    names = list("abc")[: rows.CLASSES]
    images, expected = examples(row).images, logits(model, examples(row).images)
    if row.autoencoder:
        readout = Autoencoder("code", "linear", rows.RESCALE["scale"])
        path = export_saved_model(model, tmp_path, name="net", autoencoder=readout)
        computed = load_saved_model(path).predict(images)["reconstructions"] / 255
    else:
        path = export_saved_model(model, tmp_path, name="net", class_names=names)
        computed = load_saved_model(path).predict(images)["logits"]
    limit = 1e-5 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(computed, expected, rtol=0, atol=limit)
