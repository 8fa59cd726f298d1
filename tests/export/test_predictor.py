"""Predictions of models with weights and of exports."""

import dataclasses

import keras
import numpy as np
import published_weights as made_weights
import pytest

from elu_zoo import activations, errors, registry, zoo
from elu_zoo.export import predictor
from elu_zoo.export.saved_model import Autoencoder, export_saved_model
from elu_zoo.weights import pretrained

NAME = "mnist_autoencoder"
# (loss, scale of the preprocessing, output -> pixels 0..255)
ROWS = {
    "sigmoid": ("sigmoid_cross_entropy", 1 / 255, lambda x: 255 / (1 + np.exp(-x))),
    "scale": ("half_squared_error", 1 / 64, lambda x: 64 * x),
}


@pytest.fixture(scope="module", params=["sigmoid", pytest.param("scale", marks=pytest.mark.slow)])
def made(request, tmp_path_factory):
    """The tuple (path of the weights, function from outputs to pixels)."""
    loss, scale, pixels = ROWS[request.param]
    arguments = {
        "activation": activations.describe("elu"),
        "batch_norm": False,
        "input_shape": [28, 28, 1],
        "width": 0.1,
    }
    written = made_weights.describe(
        zoo.get_model(NAME, seed=4, **arguments),
        "mnist",
        arguments,
        preprocessing={"kind": "rescale", "scale": scale},
        classes=[],
        config={"train": {"loss": loss}},
    )
    return made_weights.write(tmp_path_factory.mktemp(request.param), *written), pixels


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1), np.uint8)


def export(name, directory, weights):
    selected = pretrained.find(name, weights)
    model = zoo.get_model(name, weights=selected)
    description = predictor.description(model, name, selected)
    return export_saved_model(model, directory, name=name, **description)


@pytest.mark.parametrize(
    "other", [{"kind": "zca", "statistics": "x"}, {"kind": "rescale", "scale": 1.0, "offset": -1.0}]
)
def test_reconstructions_need_rescaling_without_an_offset(monkeypatch, other):
    model = zoo.get_model(NAME, width=0.05)
    changed = dataclasses.replace(registry.entry(NAME), preprocessing=other)
    monkeypatch.setitem(registry._MODELS, NAME, changed)
    with pytest.raises(errors.UsageError, match="of mnist_autoencoder is .*(zca|offset)"):
        predictor.description(model, NAME)


def test_autoencoder_agrees_with_numpy(made, images, tmp_path):
    path, pixels = made
    model = zoo.get_model(NAME, weights=path)
    outputs = model(images.astype(np.float32)).numpy().astype(np.float64)
    codes = zoo.get_model(NAME, weights=path, features="code")(images)
    reference = pixels(outputs)
    squared_errors = ((reference / 255 - images / 255) ** 2).sum((1, 2, 3))
    for predicts in (
        predictor.from_weights(pretrained.find(NAME, path)),
        predictor.from_saved_model(export(NAME, tmp_path, weights=path)),
    ):
        assert predicts.is_autoencoder and predicts.image_shape == (28, 28, 1)
        rows, reconstructions = predictor.reconstructed(predicts, images)
        np.testing.assert_allclose(reconstructions, reference, rtol=1e-4, atol=1e-2)
        for row, error, code in zip(rows, squared_errors, codes, strict=True):
            assert set(row) == {"squared_error", "code"}
            np.testing.assert_allclose(row["squared_error"], error, rtol=1e-5)
            np.testing.assert_allclose(row["code"], code, rtol=1e-4, atol=1e-5)


def test_classifier_agrees_with_numpy(images, tmp_path, monkeypatch):
    """The temperature, measured after the run, is in the published entry only."""
    entry, content, model = made_weights.make()
    published = {**entry, "calibration": {"temperature": 0.5}}
    made_weights.publish(monkeypatch, tmp_path, (published, content, model))
    path = made_weights.write(tmp_path, entry, content)
    logits = zoo.get_model(made_weights.MODEL, weights=path)(images)
    reference = keras.ops.softmax(logits / 0.5).numpy()
    for predicts in (
        predictor.from_weights(pretrained.find(made_weights.MODEL, path)),
        predictor.from_saved_model(export(made_weights.MODEL, tmp_path / "exports", weights=path)),
    ):
        assert not predicts.is_autoencoder
        assert list(predicts.class_names) == made_weights.CLASSES
        for row, probabilities in zip(
            predictor.ranked(predicts, images, 2), reference, strict=True
        ):
            best = np.argsort(-probabilities)[:2]
            names = [made_weights.CLASSES[i] for i in best]
            assert row["class"] == names[0] and list(row["probabilities"]) == names
            np.testing.assert_allclose(
                list(row["probabilities"].values()), probabilities[best], atol=2e-6
            )


def test_classes_with_the_same_name_get_an_index(images):
    probabilities = np.float32([[0.5, 0.1, 0.3, 0.1]] * len(images))
    predicts = predictor.Predictor(
        lambda _: {"probabilities": probabilities},
        images.shape[1:],
        ["crane", "dog", "crane", "cat"],
    )
    prediction = predictor.ranked(predicts, images, 3)[0]
    best = {"crane (class 0)": 0.5, "crane (class 2)": 0.3, "dog": 0.1}
    assert prediction == {"class": "crane (class 0)", "probabilities": best}


@pytest.mark.parametrize(
    ("name", "described"),
    [
        (NAME, {"autoencoder": Autoencoder("code", "sigmoid", 1 / 255)}),
        (
            made_weights.MODEL,
            {"class_names": [*"0123456789"], "temperature": 1, "classifier": "classifier"},
        ),
    ],
)
def test_description_of_a_file_without_an_entry(tmp_path, name, described):
    path = tmp_path / "x.keras"
    zoo.get_model(name).save(path)
    weights = pretrained.find(name, path, allow_unverified=True)
    model = zoo.get_model(name, weights=weights)
    description = predictor.description(model, name, weights)
    nothing = {"class_names": None, "autoencoder": None, "classifier": None}
    assert description == {**nothing, **described}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            {"image": "a", "class": "2", "probabilities": {"2": 0.9712, "7": 0.02}},
            {"image": "a", "class": "2", "probabilities": "2 97.1%  7 2.0%"},
        ),
        (
            {"image": "a", "true": "2", "squared_error": 3.14159, "code": [1.0]},
            {"image": "a", "true": "2", "squared_error": "3.142"},
        ),
    ],
)
def test_text_rounds_numbers(row, text):
    assert predictor.text(row) == text
