"""The file elu_zoo.json of an export, and the size of an export."""

import json

import keras
import published_weights as made_weights
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo import files, zoo
from elu_zoo.export import origin, predictor
from elu_zoo.export.saved_model import export_saved_model
from elu_zoo.weights import pretrained


def export(directory, name, **arguments):
    selected = pretrained.find(name, **arguments)
    model = zoo.get_model(name, weights=selected)
    return export_saved_model(
        model,
        directory,
        name=name,
        source=origin.of_weights(selected),
        **predictor.description(model, name, selected),
    )


def read(path):
    return json.loads((path / "assets.extra" / "elu_zoo.json").read_text())


@pytest.mark.parametrize(
    ("activation", "alpha"),
    [({"name": "elu", "alpha": 0.5}, 0.5), pytest.param("relu", None, marks=pytest.mark.slow)],
)
def test_origin_of_weights_with_an_entry(tmp_path, activation, alpha):
    entry, content, _ = made_weights.make(activation=activation, calibration={"temperature": 1.5})
    weights = made_weights.write(tmp_path, entry, content)
    written = read(export(tmp_path / "e", made_weights.MODEL, weights=weights))
    parity, outputs = written.pop("parity"), written.pop("outputs")
    assert written == {
        "format": 1,
        "model": made_weights.MODEL,
        "dataset": "mnist",
        "activation": "relu" if activation == "relu" else "elu",
        "alpha": alpha,
        "weights": {"tag": entry["tag"], "sha256": files.sha256(weights)},
        "preprocessing": {"kind": "rescale", "scale": 1 / 255},
        "classes": 10,
        "temperature": 1.5,
        "input_shape": [28, 28, 1],
        "quantization": None,
        "versions": {
            "elu_zoo": elu_zoo.__version__,
            "keras": keras.__version__,
            "tensorflow": tf.__version__,
        },
    }
    assert {"logits", "probabilities"} <= {*outputs["serving_default"]}
    of_both = outputs["serving_default"]
    assert outputs == {"serving_default": of_both, "serve_bytes": of_both, "features": ["features"]}
    assert {"logits", "features"} <= set(parity)
    for row in parity.values():
        assert 0 <= row["difference"] <= row["allowed"]


def test_origin_of_weights_without_an_entry(tmp_path):
    path = tmp_path / "x.keras"
    zoo.get_model("mnist_mlp_8x128", activation="relu").save(path)
    facts = origin.of_weights(pretrained.find("mnist_mlp_8x128", path, allow_unverified=True))
    assert facts["weights"] == {"tag": None, "sha256": files.sha256(path)}
    assert [facts[key] for key in ("dataset", "activation", "alpha")] == [None, "relu", None]


@pytest.mark.parametrize(
    ("directory", "name", "classes", "compared"),
    [
        ("exports", "colour", 4, {"logits", "features"}),
        ("autoencoder_exports", "linear", None, {"reconstructions", "codes"}),
    ],
)
def test_unknown_origin_is_null(request, directory, name, classes, compared):
    written = read(request.getfixturevalue(directory) / name / "1")
    assert {field: written[field] for field in origin.FIELDS} == dict.fromkeys(origin.FIELDS)
    assert written["classes"] == classes and compared <= set(written["parity"])


def test_whitening_is_stored_once(tmp_path, whitening):
    layers = [keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((16, 16, 3)), whitening, *layers])
    path = export_saved_model(model, tmp_path, name="net", class_names=["a", "b"])
    total = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    values = 16 * 16 * 3
    least = 4 * (values * values + values)
    assert least < total <= 1.2 * least
