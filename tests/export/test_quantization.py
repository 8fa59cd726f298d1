"""Quantized LiteRT files: the kinds, their preprocessing, and refused exports."""

import importlib.util
import json

import keras
import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.export import interchange, named_outputs, quantization, versions
from elu_zoo.export.interchange import export_interchange
from elu_zoo.layers import GlobalContrastNormalization

SHAPE = (16, 16, 3)
NAMES = ("a", "b", "c")
IMAGES = np.random.default_rng(2).integers(0, 256, (100, *SHAPE), np.uint8)


def classifier(*preprocessing):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Flatten(), keras.layers.Dense(64), keras.layers.ELU()]
    return keras.Sequential([keras.Input(SHAPE), *preprocessing, *layers, keras.layers.Dense(3)])


def needs_litert():
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("ai_edge_litert is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dynamic", "float16"])
def test_quantized_file_agrees_with_keras(whitening, tmp_path, kind):
    needs_litert()
    model = classifier(GlobalContrastNormalization(), whitening)
    path = export_interchange(
        model, tmp_path, name="net", format="litert", class_names=NAMES, quantize=kind
    )
    call = interchange.load_litert(path / "model.tflite")
    # In float16, the epsilon of the normalization is 0, and black images become NaN.
    images = np.concatenate([IMAGES, np.zeros((1, *SHAPE), np.uint8)])
    expected = model.predict(images.astype("float32"), verbose=0)
    bound = {"dynamic": 0.05, "float16": 2e-3}[kind]
    logits = call(images)["logits"]
    assert np.abs(logits - expected).max() <= bound * np.abs(expected).max()
    assert not np.array_equal(logits, expected)
    size = (path / "model.tflite").stat().st_size
    assert 2 < size / np.prod(SHAPE) ** 2 < 2.4  # whitening in float16
    assert json.loads((path / "elu_zoo.json").read_text())["quantization"] == kind


def test_what_cannot_be_quantized_is_refused():
    inner = classifier(GlobalContrastNormalization())
    nested = keras.Sequential([keras.Input(SHAPE), inner])
    with pytest.raises(errors.UsageError, match="inside"):
        quantization.check(named_outputs.make(nested, NAMES, None))
    for kind, message in (("int8", "Known: dynamic, float16"), ("float16", "litert can")):
        with pytest.raises(errors.UsageError, match=message):
            versions.check_format("onnx", kind)
