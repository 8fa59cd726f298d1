"""Quantized LiteRT files: the kinds, their preprocessing, and refused exports."""

import importlib.util
import json
import types

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import load, order
from elu_zoo.data.dataset import Split
from elu_zoo.export import answers, interchange, quantization
from elu_zoo.export.interchange import export_interchange
from elu_zoo.layers import GlobalContrastNormalization

SHAPE = (16, 16, 3)
NAMES = ("a", "b", "c")
IMAGES = np.random.default_rng(2).integers(0, 256, (100, *SHAPE), np.uint8)


def classifier(*preprocessing):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Flatten(), keras.layers.Dense(64), keras.layers.ELU()]
    return keras.Sequential(
        [keras.Input(SHAPE), *preprocessing, *layers, keras.layers.Dense(3)]
    )


def needs_litert():
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("ai_edge_litert is not installed")


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["int8", pytest.param("dynamic", marks=SLOW), pytest.param("float16", marks=SLOW)],
)
def test_quantized_file_agrees_with_keras(whitening, tmp_path, kind):
    needs_litert()
    model = classifier(GlobalContrastNormalization(), whitening)
    path = export_interchange(
        model,
        tmp_path,
        name="net",
        format="litert",
        class_names=NAMES,
        quantize=kind,
        calibration=IMAGES if kind == "int8" else None,
    )
    call = interchange.load_litert(path / "model.tflite")
    # In float16, the epsilon of the normalization is 0, and black images become NaN.
    images = np.concatenate([IMAGES, np.zeros((1, *SHAPE), np.uint8)])
    expected = model.predict(images.astype("float32"), verbose=0)
    bound = {"dynamic": 0.05, "float16": 2e-3, "int8": 0.1}[kind]
    logits = call(images)["logits"]
    assert np.abs(logits - expected).max() <= bound * np.abs(expected).max()
    assert not np.array_equal(logits, expected)
    values = np.prod(SHAPE)
    size = (path / "model.tflite").stat().st_size
    assert 2 * values**2 < size < 2.4 * values**2  # whitening in float16
    written = json.loads((path / "elu_zoo.json").read_text())
    assert written["quantization"] == kind
    assert ("classes" in written["parity"]) == (kind == "int8")


@pytest.mark.parametrize(
    ("kind", "format", "images", "message"),
    [
        ("int4", "litert", None, "Unknown quantization 'int4'"),
        ("float16", "onnx", None, "Only --format=litert can be quantized"),
        ("int8", "litert", None, r"\(images, 16, 16, 3\), got None"),
        ("int8", "litert", IMAGES[:, :8], r"got \(100, 8, 16, 3\)"),
    ],
)
def test_wrong_arguments_are_refused(kind, format, images, message):
    answer = answers.make(classifier(), NAMES, None)
    with pytest.raises(errors.UsageError, match=message):
        quantization.check(kind, format, answer, images)


def test_preprocessing_in_a_nested_model_is_refused():
    inner = classifier(GlobalContrastNormalization())
    answer = answers.make(keras.Sequential([keras.Input(SHAPE), inner]), NAMES, None)
    with pytest.raises(errors.UsageError, match="is in a model inside it. Build one"):
        quantization.check("dynamic", "litert", answer, None)


def test_int8_refuses_an_autoencoder(autoencoders):
    described = answers.Autoencoder("code", "linear", 1 / 64)
    answer = answers.make(autoencoders["linear"], None, described)
    with pytest.raises(errors.UsageError, match="int8 must have a classifier"):
        quantization.check("int8", "litert", answer, IMAGES)


@pytest.mark.parametrize(("wrong", "passes"), [(10, True), (11, False)])
def test_int8_needs_equal_classes(tmp_path, wrong, passes):
    answer = answers.make(classifier(), NAMES, None)
    indices = iter(range(len(IMAGES)))

    def call(images):
        logits = answer(images)["logits"].numpy()
        rows = [next(indices) < wrong for _ in images]
        return {"logits": np.where(np.array(rows)[:, None], -logits, logits)}

    file = tmp_path / "model.tflite"
    if passes:
        result = quantization.check_classes(answer, call, IMAGES, file)
        assert result["classes"] == {"equal": 0.9, "required": 0.9, "images": 100}
    else:
        with pytest.raises(errors.EluZooError, match="89.0% of 100 calibration"):
            quantization.check_classes(answer, call, IMAGES, file)


def test_calibration_images_are_the_first_of_the_seeded_order(monkeypatch):
    images = np.arange(600, dtype=np.int64).reshape(600, 1, 1, 1)
    data = types.SimpleNamespace(train=Split(images, np.zeros(600, np.int32)))
    monkeypatch.setattr(quantization.load, "load", lambda *_, **__: data)
    weights = types.SimpleNamespace(dataset="mnist", name="tag")
    chosen = quantization.calibration_images(weights, (1, 1, 1))
    expected = order.permutation(order.SPLIT_SEED, 0, 600)[:500]
    assert chosen.ravel().tolist() == expected.tolist()


def test_calibration_images_of_a_user_are_those_of_the_training(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        images = generator.integers(0, 256, (30, 8, 8, 1), np.uint8)
        np.savez(tmp_path / folder / "own.npz", x=images, y=np.arange(30) % 2)
    data = load.load(str(tmp_path / "one/own.npz"))
    settings = {"name": "own.npz"}
    entry = {"images": data.images, "config": {"data": settings}}
    weights = types.SimpleNamespace(dataset="own", name="tag", entry=entry)
    monkeypatch.chdir(tmp_path / "one")
    chosen = quantization.calibration_images(weights, (8, 8, 1))
    assert len(chosen) == len(data.train)
    monkeypatch.chdir(tmp_path / "two")
    with pytest.raises(errors.UsageError, match=f"have changed from {data.images} to"):
        quantization.calibration_images(weights, (8, 8, 1))


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [(None, "has no entry"), ("mnist", "cannot be loaded. No MNIST.")],
)
def test_int8_without_training_images_is_refused(monkeypatch, dataset, reason):
    def load(*_, **__):
        raise errors.DataError("No MNIST.")

    monkeypatch.setattr(quantization.load, "load", load)
    weights = types.SimpleNamespace(dataset=dataset, name="tag")
    with pytest.raises(errors.UsageError, match=f"images of tag, but .*{reason}"):
        quantization.calibration_images(weights, (28, 28, 1))
