"""Files that Keras saved are loaded as far as they state the network."""

import json
import zipfile

import keras
import numpy as np
import pytest

import elu_zoo
from elu_zoo import activations, errors

MODEL = "mnist_mlp_8x128"
QUICK = ["mnist_autoencoder", "elu_cifar_11", "fmp"]  # dense, convolutions, own layers
OTHERS = [pytest.param(x, marks=pytest.mark.slow) for x in elu_zoo.list_models() if x not in QUICK]
USAGE, CORRUPT = errors.UsageError, errors.CorruptError


def get(name=MODEL, **arguments):
    return elu_zoo.get_model(name, **{"width": 0.1, **arguments})


def load(path, name=MODEL, **arguments):
    return get(name, weights=path, allow_unverified=True, **arguments)


@pytest.fixture
def save(tmp_path):
    """A function that saves a model as a `.keras`."""

    def save(model):
        path = tmp_path / "mine.keras"
        model.save(path)
        return path

    return save


def fitted(**arguments):
    model = get(num_classes=3, **arguments)
    model.compile("adam", "mse")
    model.fit(np.ones((2, 28, 28, 1)), np.ones((2, 3)), verbose=0)
    return model


SAVED = {
    "compiled and fitted": fitted,
    "probabilities": lambda: get(classifier_activation="softmax"),
}


@pytest.mark.parametrize(
    "case", [pytest.param("compiled and fitted", marks=pytest.mark.slow), "probabilities"]
)
def test_weights_and_number_of_classes_come_from_the_file(save, case):
    model = SAVED[case]()
    loaded = load(save(model))
    assert loaded.output_shape == model.output_shape
    for value, exact in zip(loaded.weights, model.weights, strict=True):
        np.testing.assert_array_equal(value, np.asarray(exact, np.float32))


@pytest.mark.parametrize("name", QUICK + OTHERS)
def test_a_saved_network_equals_the_loaded_one(save, name):
    model = get(name)
    images = np.random.default_rng(0).integers(0, 256, (1, *model.input_shape[1:])).astype("f4")
    np.testing.assert_array_equal(load(save(model), name)(images), model(images))


def cube(x):
    return x**3


STATED = [
    {"activation": {"name": "elu", "alpha": 2.0}},
    {"activation": "very_leaky_relu", "batch_norm": True},
    {"activation": "mish"},
    {"activation": "cube"},
    {"preprocessing": {"kind": "rescale", "scale": 0.5, "offset": 1.0}},
    {"input_shape": (8, 8, 3)},
]


@pytest.mark.parametrize("arguments", STATED)
def test_a_keras_file_states_its_arguments(save, monkeypatch, arguments):
    monkeypatch.setattr(activations.table, "_table", {**activations.table._table})
    elu_zoo.register_activation(cube)
    path = save(model := get(**arguments))
    images = np.random.default_rng(0).uniform(0, 255, (2, *model.input_shape[1:]))
    np.testing.assert_array_equal(load(path)(images), model(images))
    (key,) = [key for key in arguments if key != "batch_norm"]
    others = {"activation": "relu", "input_shape": (9, 9, 3), "preprocessing": {"kind": "gcn"}}
    with pytest.raises(USAGE, match=f"were trained with {key}="):
        load(path, **{key: others[key]})


@pytest.mark.parametrize("cut", [{}, {"include_top": False}])
@pytest.mark.parametrize(("name", "activation"), [(MODEL, "elu"), ("allcnn_c", "prelu")])
def test_another_classifier_keeps_the_body(save, caplog, name, activation, cut):
    model = get(name, seed=4, activation=activation, **cut)
    with caplog.at_level("INFO", "absl"):
        loaded = load(save(model), name, num_classes=5)
    assert loaded.output_shape == (None, 5) and "layer 'classifier'" in caplog.text
    assert np.shape(loaded.weights[-1]) == (5,)  # the bias or the slopes of the new classifier
    expected = get(name, num_classes=5).get_layer("classifier").kernel
    np.testing.assert_array_equal(loaded.get_layer("classifier").kernel, expected)
    bodies = [[np.asarray(w) for w in m.weights[:16]] for m in (loaded, model)]
    np.testing.assert_equal(*bodies)
    if cut:
        assert load(save(model), name, **cut).output_shape == model.output_shape
        for more in ({}, {"features": "classifier"}):
            with pytest.raises(USAGE, match="no layer 'classifier'. Pass num_classes="):
                load(save(model), name, **more)


def lambda_of_a_stranger():
    model = get()
    doubled = keras.layers.Lambda(lambda y: 2 * y, name="twice")(model.output)
    return keras.Model(model.input, doubled)


REFUSED = {
    "another width": (lambda: get(width=0.2), {}, "layers dense1, .*Pass the"),
    "another network": (lambda: get("mnist_mlp_5x256"), {}, "dense5"),
    "no preprocessing": (lambda: get(preprocessing=False), {}, "with preprocessing=F"),
    "own head": (lambda: keras.Sequential(get(include_top=False).layers), {}, "a Sequential, not"),
    "own": (lambda: keras.Model(x := keras.Input((3,)), keras.layers.Dense(2)(x)), {}, "al, not"),
    "own layers": (lambda_of_a_stranger, {}, "layers twice differ.*load_model"),
    "features": (lambda: get(features="act_dense3"), {}, "dense4"),
    "Keras' slope": (lambda: get(activation=keras.layers.LeakyReLU), {}, "act_dense1, .*Pass the"),
    "dropout": (lambda: get("fmp", dropout=0.1), {"name": "fmp"}, "drop.*differ. Pass the"),
}


@pytest.mark.parametrize(("make", "arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_another_model_is_refused(save, make, arguments, words):
    path = save(make())
    with pytest.raises(USAGE, match=words):
        load(path, **arguments)
    with pytest.raises(USAGE, match="mine.keras is a model .*allow_unverified=True"):
        get(weights=path, **arguments)


def test_a_weight_file_without_an_entry_is_refused(tmp_path):
    get().save_weights(tmp_path / "mine.weights.h5")
    with pytest.raises(USAGE, match="no entry .*load_weights"):
        load(tmp_path / "mine.weights.h5")


def change(path, edit, compression=zipfile.ZIP_STORED):
    """Rewrites a `.keras` with the config that `edit` changes or returns."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    members["config.json"] = edit(config) or json.dumps(config)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[null, 28, 28, 1]", "[null, 300000, 300000, 1]", "another network. dense1:"),
        ('["act_dense1"', '["act_dense2"', "layers dense2 differ"),
        ('10, "activation": "linear"', '10, "activation": "relu"', "layers classifier differ"),
        ('"units": 10,', '"units": "10",', "num_classes must be an integer"),
    ],
)
def test_a_forged_network_is_refused(save, old, new, words):
    change(path := save(get()), lambda config: json.dumps(config).replace(old, new))
    with pytest.raises(USAGE, match=words):
        load(path)


LAYER = {"class_name": "Dense", "config": {"name": "twin"}, "inbound_nodes": []}
DAMAGED = {
    "one name": lambda path: change(path, lambda c: c["config"]["layers"].extend(2 * [LAYER])),
    "no zip file": lambda path: path.write_bytes(bytes(1 << 20)),
    "compressed": lambda path: change(path, lambda c: None, zipfile.ZIP_DEFLATED),
    "layers of text": lambda path: change(path, lambda c: c.update(config="x")),
    "a number as a name": lambda path: change(
        path, lambda c: c["config"]["layers"][3]["config"].update(name=3)
    ),
    "too large": lambda path: change(path, lambda c: json.dumps(c) + " " * (17 << 20)),
    "nested": lambda path: change(path, lambda c: "[" * 100_000),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused(save, case):
    DAMAGED[case](path := save(get()))
    with pytest.raises(CORRUPT, match="mine.keras (has a damaged|is not a file of)"):
        load(path)
