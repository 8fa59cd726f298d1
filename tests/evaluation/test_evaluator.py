"""Evaluations, which compute in float32 even if the training does not."""

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


def build(name, seed=3, **arguments):
    arguments = {"width": 0.05, "input_shape": (6, 5, 1), **arguments}
    return zoo.get_model(name, seed=seed, preprocessing=True, **arguments)


def outputs_of(evaluator, images):
    labels = np.zeros(len(images), np.int32)
    return np.concatenate([part for _, part in evaluator._outputs(Split(images, labels))])


@pytest.fixture
def split():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (50, 6, 5, 1), "uint8")
    return Split(images, generator.integers(0, 10, 50).astype("int32"))


@pytest.mark.parametrize(
    ("images", "pixels", "sizes"),
    [
        (20, 2**21, [20, 20, 10]),
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
    outputs = outputs_of(Evaluator(model, None), split.images)
    assert type(outputs) is np.ndarray and outputs.dtype == np.float32
    assert batches == sizes
    expected = np.asarray(model(split.images))
    np.testing.assert_allclose(outputs, expected, 1e-5, 1e-6)


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


def test_measures_of_files_and_in_memory_equal_those_of_the_objective(encoded, monkeypatch):
    monkeypatch.setattr("elu_zoo.evaluation.evaluator._BATCH_SIZE", 5)
    model = build("mnist_autoencoder", input_shape=(9, 9, 3))
    objective = Objective("sigmoid_cross_entropy", RESCALE)
    evaluator = Evaluator(model, objective)
    on_disk, in_memory = (evaluator(split) for split in encoded)
    assert on_disk == in_memory and on_disk["loss"] > 1
    expected = objective.measure([(encoded[1], np.asarray(model(encoded[1].images)))])
    assert in_memory == pytest.approx(expected, rel=1e-6)
    for name, value in in_memory.items():
        of_images = evaluator.of_images(encoded[0], name)
        assert of_images.shape == (17,) and of_images.mean() == pytest.approx(value)
        alone = evaluator.of_images(encoded[1].first(7), name)
        np.testing.assert_allclose(of_images[:7], alone, 1e-6)


@pytest.mark.parametrize("activation", ["elu", "rrelu"])
def test_a_float32_model_evaluates_the_current_weights_of_the_trained_model(split, activation):
    """The random state of rrelu changes no evaluation."""
    networks = {"batch_norm": True, "activation": activation}
    trained = build("mnist_mlp_5x256", seed=8, **networks)
    precision.apply(trained, "mixed_bfloat16")
    float32_model = build("mnist_mlp_5x256", seed=8, **networks)
    objective = Objective("softmax_cross_entropy", RESCALE)
    evaluator = Evaluator(build("mnist_mlp_5x256", **networks), objective, trained)
    exact = Evaluator(float32_model, objective)
    for _ in range(2):
        assert evaluator(split) == exact(split)
        assert evaluator(split) != Evaluator(trained, objective)(split)
        changed = [w * 1.25 + 0.125 for w in trained.get_weights()]
        for model in (trained, float32_model):
            model.set_weights(changed)


@pytest.mark.parametrize("shape", [(6, 5, 3), (30,), ()])
def test_images_of_the_wrong_shape_are_refused(shape):
    evaluator = Evaluator(build("mnist_autoencoder"), None)
    with pytest.raises(errors.UsageError, match=r"\(6, 5, 1\)"):
        outputs_of(evaluator, np.zeros((2, *shape), "uint8"))
