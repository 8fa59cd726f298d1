"""Evaluations, which compute in float32 even if the training does not."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors, zoo
from elu_zoo.data.dataset import Split
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.folder import FilesOfSplit
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective
from elu_zoo.training.step import precision

RESCALE = {"kind": "rescale", "scale": 1 / 255}
NETS = {
    "mnist_mlp_5x256": "softmax_cross_entropy",
    "mnist_autoencoder": "sigmoid_cross_entropy",
}


def build(name, seed=3, **arguments):
    arguments = {"width": 0.05, "input_shape": (6, 5, 1), **arguments}
    return zoo.get_model(name, seed=seed, preprocessing=True, **arguments)


@pytest.fixture
def split():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (50, 6, 5, 1), "uint8")
    return Split(images, generator.integers(0, 10, 50).astype("int32"))


@pytest.mark.parametrize(
    ("images", "pixels", "sizes"),
    [
        (20, 2**21, [20, 20, 10]),
        (1000, 2**21, [50]),
        (1000, 20 * 30, [20, 20, 10]),  # an image has 6 x 5 pixels
        (1000, 29, [1] * 50),
    ],
)
def test_outputs_do_not_depend_on_batch_size(monkeypatch, split, images, pixels, sizes):
    monkeypatch.setattr("elu_zoo.evaluation.evaluator._BATCH_SIZE", images)
    monkeypatch.setattr("elu_zoo.evaluation.evaluator._PIXELS", pixels)
    batches, parts = [], Split.parts

    def recorded(self, size):
        for part in parts(self, size):
            batches.append(len(part))
            yield part

    monkeypatch.setattr(Split, "parts", recorded)
    model = build("mnist_autoencoder")
    outputs = Evaluator(model, None).outputs(split.images)
    assert type(outputs) is np.ndarray and outputs.dtype == np.float32
    assert batches == sizes
    expected = np.asarray(model(split.images))
    np.testing.assert_allclose(outputs, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("name", NETS)
def test_measures_equal_those_of_the_objective(split, name):
    model = build(name)
    objective = Objective(NETS[name], RESCALE)
    measures = Evaluator(model, objective)(split)
    expected = objective.measure([(split, np.asarray(model(split.images)))])
    assert measures == pytest.approx(expected, rel=1e-6) and measures["loss"] > 1


@pytest.fixture
def encoded(tmp_path):
    """A split of images on the disk, and the same examples in memory."""
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (23, 9, 9, 3), "uint8")
    labels = generator.integers(0, 10, 23, "int32")
    paths = tuple(f"{index}.png" for index in range(23))
    for path, image in zip(paths, images, strict=True):
        (tmp_path / path).write_bytes(tf.io.encode_png(image).numpy())
    chosen = generator.permutation(23)[:17]
    on_disk = EncodedSplit(FilesOfSplit(tmp_path, paths, labels), chosen, 9)
    return on_disk, Split(images[chosen], labels[chosen])


@pytest.mark.parametrize("name", NETS)
def test_measures_of_files_equal_those_in_memory(encoded, monkeypatch, name):
    monkeypatch.setattr("elu_zoo.evaluation.evaluator._BATCH_SIZE", 5)
    objective = Objective(NETS[name], RESCALE)
    evaluator = Evaluator(build(name, input_shape=(9, 9, 3)), objective)
    on_disk, in_memory = (evaluator(split) for split in encoded)
    assert on_disk == in_memory and on_disk["loss"] > 1


def test_current_weights_are_evaluated(split):
    model = build("mnist_mlp_5x256")
    evaluator = Evaluator(model, Objective("softmax_cross_entropy", RESCALE))
    before = evaluator(split)
    model.set_weights([2 * w for w in model.get_weights()])
    assert abs(evaluator(split)["loss"] - before["loss"]) > 1e-2


@pytest.mark.parametrize(
    ("name", "batch_norm", "how"),
    [
        ("mnist_mlp_5x256", True, "mixed_bfloat16"),
        ("mnist_autoencoder", False, "bfloat16_matmuls"),
    ],
)
def test_a_float32_model_evaluates_the_weights_of_a_reduced_precision_model(
    split, name, batch_norm, how
):
    trained = build(name, seed=8, batch_norm=batch_norm)
    precision.apply(trained, how)
    float32_model = build(name, seed=8, batch_norm=batch_norm)
    objective = Objective(NETS[name], RESCALE)
    evaluated = build(name, seed=3, batch_norm=batch_norm)
    evaluator = Evaluator(evaluated, objective, trained)
    for _ in range(2):
        assert evaluator(split) == Evaluator(float32_model, objective)(split)
        assert evaluator(split) != Evaluator(trained, objective)(split)
        changed = [w * 1.25 + 0.125 for w in trained.get_weights()]
        for model in (trained, float32_model):
            model.set_weights(changed)


def test_the_random_state_of_rrelu_does_not_change_an_evaluation(split):
    trained = build("mnist_mlp_5x256", seed=8, activation="rrelu")
    precision.apply(trained, "mixed_bfloat16")
    float32_model = build("mnist_mlp_5x256", seed=8, activation="rrelu")
    evaluated = build("mnist_mlp_5x256", activation="rrelu")
    outputs = Evaluator(evaluated, None, trained).outputs(split.images)
    expected = Evaluator(float32_model, None).outputs(split.images)
    np.testing.assert_array_equal(outputs, expected)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((6, 5, 3), r"\(6, 5, 3\)"),
        ((30,), r"\(30,\)"),
        ((), r"\(\)"),
    ],
)
def test_images_of_the_wrong_shape_are_refused(shape, words):
    evaluator = Evaluator(build("mnist_autoencoder"), None)
    words = rf"mnist_autoencoder needs images of shape \(6, 5, 1\). Received: {words}"
    with pytest.raises(errors.UsageError, match=words):
        evaluator.outputs(np.zeros((2, *shape), "uint8"))


def test_a_backend_other_than_tensorflow_gives_the_same_outputs(monkeypatch, split):
    model = build("mnist_mlp_5x256")
    expected = Evaluator(model, None).outputs(split.images)
    monkeypatch.setattr(keras.backend, "backend", lambda: "other")
    outputs = Evaluator(model, None).outputs(split.images)
    np.testing.assert_allclose(outputs, expected, 1e-5, 1e-6)
