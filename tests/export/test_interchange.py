"""Exports for ONNX Runtime and LiteRT."""

import importlib.util
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf
from odd_layers import CallsPython, Differs

import elu_zoo
from elu_zoo import errors
from elu_zoo.activations import ELU
from elu_zoo.data import load
from elu_zoo.export import checks, interchange, named_outputs, origin, predictor
from elu_zoo.export.interchange import export_interchange
from elu_zoo.export.named_outputs import Autoencoder
from elu_zoo.layers.constant import embed_constants
from elu_zoo.weights import pretrained

FILES = {"onnx": "model.onnx", "litert": "model.tflite"}
LOAD = {"onnx": interchange.load_onnx, "litert": interchange.load_litert}
CIFAR = pytest.mark.slow, pytest.mark.nightly, pytest.mark.data("cifar10")
PACKAGES = {"onnx": ["tf2onnx", "onnxruntime"], "litert": ["ai_edge_litert"]}


@pytest.fixture(params=FILES)
def format(request):
    for package in PACKAGES[request.param]:
        # `importorskip` would import the package, and the import may warn.
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    return request.param


def reduced():
    layer = keras.layers.Dense(2, dtype="mixed_bfloat16")
    return keras.Sequential([keras.Input((4, 4, 1)), layer])


def small(*layers):
    ends = [keras.layers.Flatten(), keras.layers.Dense(2)]
    return keras.Sequential([keras.Input((4, 4, 1)), *layers, *ends])


def export(directory, format, model=None, **arguments):
    arguments = {"name": "net", "class_names": ("a", "b"), **arguments}
    return export_interchange(model or small(), directory, format=format, **arguments)


def assert_close(format, outputs, expected):
    """Checks the tolerance of README.md, relative to the largest value."""
    bound = {"onnx": 2e-4, "litert": 1e-5}[format]
    limit = bound * max(1, np.abs(expected).max())
    assert np.abs(outputs - expected).max() <= limit


def test_classifier_agrees_with_keras(models, class_names, tmp_path, format):
    model = models["colour"]
    compared = set(named_outputs.make(model, class_names, None).compared)
    path = export(tmp_path, format, model, class_names=class_names)
    assert path == tmp_path / "net" / "1" and not (tmp_path / "models.config").exists()
    names = {file.name for file in path.iterdir()}
    assert names == {FILES[format], "labels.txt", "elu_zoo.json"}
    assert (path / "labels.txt").read_text("utf-8") == "plane\ncañon\nbird\ndeer\n"
    function = LOAD[format](path / FILES[format])
    noise = np.random.default_rng(3).integers(0, 256, (9, *model.input_shape[1:]))
    for batch in (1, 9, 4):  # the batch size is not fixed
        images = noise[:batch].astype("uint8")
        outputs = function(images)
        assert set(outputs) == compared
        assert_close(format, outputs["logits"], model(images.astype("float32")).numpy())
    written = json.loads((path / "elu_zoo.json").read_text())
    assert set(written["outputs"]["serving_default"]) == compared and written["classes"] == 4
    parity = written["parity"]["logits"]
    assert 0 <= parity["difference"] <= parity["allowed"]
    pixels = checks.noise(model.input_shape[1:]).astype("float32")
    largest = max(1, np.abs(model(pixels)).max())
    bound = {"onnx": 2e-4, "litert": 1e-5}[format]
    assert parity["allowed"] == pytest.approx(bound * largest)


def test_a_compiled_elu_is_written_as_stock_operations(tmp_path, format):
    # The export fails if the file differs from the model.
    assert export(tmp_path, format, small(ELU(0.5, jit_compile=True))).is_dir()


def test_autoencoder_agrees_with_numpy(autoencoders, expected, tmp_path, format):
    description = Autoencoder("code", "sigmoid", 1 / 255)
    model = autoencoders["sigmoid"]
    path = export(tmp_path, format, model, class_names=None, autoencoder=description)
    assert not (path / "labels.txt").exists()
    images = np.random.default_rng(3).integers(0, 256, (3, *model.input_shape[1:]))
    outputs = LOAD[format](path / FILES[format])(images)
    reference = expected("sigmoid", images.astype("float32"))
    assert set(outputs) == set(reference)
    for name, values in reference.items():
        np.testing.assert_allclose(outputs[name], values, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "weights", "data"),
    [
        pytest.param("mnist_mlp_8x128", "mnist", "mnist_5k", marks=pytest.mark.slow),
        pytest.param("elu_cifar_11", "cifar10", "cifar10", marks=CIFAR),
    ],
)
def test_export_of_published_weights_agrees_with_keras(tmp_path, format, name, weights, data):
    selected = pretrained.find(name, weights)
    model = elu_zoo.get_model(name, weights=selected)
    description = predictor.description(model, name, selected)
    del description["classifier"]
    source = origin.of_weights(selected)
    path = export(tmp_path, format, model, name=name, source=source, **description)
    images = load.load(data).test.images[:1000]
    expected = model.predict_on_batch(images.astype("float32"))
    logits = LOAD[format](path / FILES[format])(images)["logits"]
    assert_close(format, logits, expected)
    np.testing.assert_array_equal(logits.argmax(1), expected.argmax(1))
    written = json.loads((path / "elu_zoo.json").read_text())
    assert written["weights"] == source["weights"]


def test_embed_constants_copies_whitening_constants_into_graphs(whitening):
    spec = tf.TensorSpec((None, 16, 16, 3))
    whitening.build(spec.shape)

    def captured():
        graph = tf.function(whitening.call).get_concrete_function(spec)
        return len(graph.captured_inputs)

    assert captured() == 2
    with embed_constants():
        assert captured() == 0
    assert captured() == 2


@pytest.mark.parametrize(
    ("layer", "word"), [(Differs, "differ"), (CallsPython, "written"), (reduced, "float32")]
)
def test_failure_leaves_no_files(tmp_path, format, layer, word):
    with pytest.raises(errors.EluZooError, match=word) as caught:
        export(tmp_path / "exports", format, small(layer()))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_full_disk_leaves_no_files(tmp_path, format, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(interchange, "_write", full)
    with pytest.raises(errors.ResourceError, match="No space"):
        export(tmp_path / "exports", format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", ["tf2onnx", "onnxruntime", "ai_edge_litert"])
def test_missing_package_is_refused(tmp_path, monkeypatch, missing):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else find_spec("json")
    )
    format = "litert" if missing == "ai_edge_litert" else "onnx"
    with pytest.raises(errors.UsageError, match=rf"{missing}.*elu-zoo\[{format}\]"):
        export(tmp_path / "exports", format)
    assert not list(tmp_path.iterdir())


def test_unknown_format_suggests_the_nearest(tmp_path):
    with pytest.raises(errors.UsageError, match="Did you mean 'onnx'"):
        export(tmp_path, "onx")
