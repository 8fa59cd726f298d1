"""preprocess_input, decode_predictions, and checks of classes."""

import numpy as np
import published_weights as made_weights
import pytest

import elu_zoo
from elu_zoo import errors

MODEL = made_weights.MODEL


@pytest.mark.parametrize(("weights", "dtype"), [(None, "float32"), ("mnist", "uint8")])
def test_preprocess_input_returns_new_float32_pixels(published, images, dtype, weights, caplog):
    raw = images.astype(dtype)
    pixels = elu_zoo.preprocess_input(raw, MODEL, weights)
    assert pixels.dtype == np.float32 and not np.shares_memory(pixels, raw)
    np.testing.assert_allclose(pixels, raw.astype(np.float64) / 255, rtol=1e-6)
    np.testing.assert_array_equal(raw, images)
    bare, model = (
        elu_zoo.get_model(MODEL, weights=weights, preprocessing=p) for p in (False, True)
    )
    np.testing.assert_array_equal(np.asarray(bare(pixels)), np.asarray(model(images)))
    assert not caplog.messages
    elu_zoo.preprocess_input(images / 255, MODEL, weights)
    assert "5 of 5 images (images[0], images[1]" in caplog.text and "0..255" in caplog.text


def test_preprocess_input_uses_the_preprocessing_of_weights(made, images, tmp_path):
    entry, content, _ = made["elu"]
    double = {"kind": "rescale", "scale": 2.0}
    path = made_weights.write(tmp_path, {**entry, "preprocessing": double}, content)
    pixels = elu_zoo.preprocess_input(images, MODEL, path)
    np.testing.assert_array_equal(pixels, images * np.float32(2))


def test_preprocess_input_refuses_a_single_image():
    with pytest.raises(errors.UsageError, match="width, channels.. Received the shape .28, 28"):
        elu_zoo.preprocess_input(np.zeros((28, 28, 1)), MODEL)


LOGITS = np.array([[0, 3, 1, -2, 0, 0, 0, 0, 0, 2.5], [9.0, *[0] * 9]])
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)


@pytest.mark.parametrize(("values", "power"), [(LOGITS, 0.5), (PROBABILITIES, 1)])
def test_decode_names_the_most_probable_classes(tmp_path, values, power):
    path = made_weights.write(tmp_path, *made_weights.make(calibration={"temperature": 2.0})[:2])
    decoded = elu_zoo.decode_predictions(values, MODEL, path, top=3)
    # Only logits are divided. Classes of equal probability are sorted by their numbers.
    exact = PROBABILITIES**power / (PROBABILITIES**power).sum(1, keepdims=True)
    for row, best, expected in zip(decoded, [[1, 9, 2], [0, 1, 2]], exact, strict=True):
        assert [name for name, _ in row] == [f"digit {i}" for i in best]
        np.testing.assert_allclose([p for _, p in row], expected[best], rtol=1e-6)
        assert all(type(p) is float for _, p in row)


def test_decode_takes_the_classes_of_the_weights(published, made, tmp_path, monkeypatch):
    ((best,),) = elu_zoo.decode_predictions(LOGITS[:1] * 1000, MODEL, "letters", top=1)
    assert best == ("b", 1.0)  # without an overflow
    made_weights.publish(monkeypatch, tmp_path, made["elu"])  # weights of one data set
    (row, _) = elu_zoo.decode_predictions(LOGITS, MODEL, top=99)
    assert row[0] == ("digit 1", pytest.approx(PROBABILITIES[0, 1])) and len(row) == 10


@pytest.mark.parametrize(
    ("values", "name", "arguments", "words"),
    [
        (LOGITS, MODEL, {}, "several data sets. Pass weights="),
        (LOGITS, MODEL, {"weights": "mnist", "top": 0}, "top must be an integer >= 1"),
        (np.zeros((2, 9)), MODEL, {"weights": "mnist"}, r"shape \(batch, 10\).*Received"),
        (LOGITS, "nin", {}, "no published weights.*Pass weights="),
        (LOGITS, "mnist_autoencoder", {}, "is an autoencoder: its output is an image"),
    ],
)
def test_decode_refuses_predictions_without_class_names(published, values, name, arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        elu_zoo.decode_predictions(values, name, **arguments)


@pytest.mark.parametrize(("size", "read"), [((20, 20), (20, 20)), ((None, None), (32, 32))])
def test_a_keras_file_states_size_and_preprocessing_and_numbers_its_classes(tmp_path, size, read):
    path = tmp_path / "own.keras"
    rescale = {"kind": "rescale", "scale": 1 / 255, "offset": 0.0}
    elu_zoo.get_model("nin", input_shape=(*size, 3), preprocessing=rescale).save(path)
    own = {"weights": path, "allow_unverified": True}
    (image,) = elu_zoo.load_image(np.zeros((8, 8, 3), np.uint8), "nin", **own)
    assert image.shape == (*read, 3)
    assert elu_zoo.preprocess_input(np.full((1, 8, 8, 3), 255), "nin", **own).max() == 1
    (best,) = elu_zoo.decode_predictions(np.eye(1, 10, 3), "nin", top=1, **own)
    assert best == [("3", 1.0)]
