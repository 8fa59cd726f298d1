"""Training objectives: targets, losses, error measures and label smoothing."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective, describe

COUNT, SHAPE, CLASSES = 12, (5, 4, 2), 7
IMAGE_LOSSES = ("sigmoid_cross_entropy", "half_squared_error")
SCALES = (1 / 255, 1 / 510)


@pytest.fixture
def split():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (COUNT, *SHAPE), "uint8")
    return Split(images, generator.integers(0, CLASSES, COUNT).astype("int32"))


def make_objective(loss, scale=1 / 255):
    return Objective(loss, {"kind": "rescale", "scale": scale})


def draw_outputs(shape, factor=2):
    draws = np.random.default_rng(1).normal(size=(COUNT, *shape))
    return (factor * draws).astype(np.float32)


def image_losses(loss, z, t):
    if loss == "half_squared_error":
        values = (z - t) ** 2 / 2
    else:
        values = t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z)
    return values.reshape(COUNT, -1).sum(1)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", IMAGE_LOSSES)
def test_targets_of_image_losses_are_the_preprocessed_images(split, loss, scale):
    z = draw_outputs(SHAPE)
    images = split.images.astype(np.float32)
    losses = np.asarray(make_objective(loss, scale)(images, split.labels, z))
    expected = image_losses(loss, z.astype(np.float64), split.images * scale)
    np.testing.assert_allclose(losses, expected, 1e-5)
    assert losses.shape == (COUNT,)
    other_labels = split.labels[::-1]
    relabelled = make_objective(loss, scale)(images, other_labels, z)
    np.testing.assert_array_equal(relabelled, losses)


def test_targets_of_the_softmax_cross_entropy_are_the_labels(split):
    z = draw_outputs([CLASSES])
    images = split.images.astype(np.float32)
    loss = np.asarray(make_objective("softmax_cross_entropy")(images, split.labels, z))
    z = z.astype(np.float64)
    log_sum = np.log(np.exp(z).sum(1))
    expected = log_sum - z[np.arange(COUNT), split.labels]
    np.testing.assert_allclose(loss, expected, 1e-5)
    blank = make_objective("softmax_cross_entropy")(0 * images, split.labels, z)
    np.testing.assert_allclose(blank, expected, 1e-5)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("loss", IMAGE_LOSSES)
def test_measures_of_image_losses_equal_float64(split, loss, scale):
    """The loss is of the outputs; the squared error is of their sigmoid or identity."""
    z = draw_outputs(SHAPE)
    measures = make_objective(loss, scale).measure([(split, z)])
    assert list(measures) == ["loss", "squared_error"]
    z, t = z.astype(np.float64), split.images * scale
    expected = image_losses(loss, z, t).mean()
    assert measures["loss"] == pytest.approx(expected, rel=1e-6)
    y = z if loss == "half_squared_error" else 1 / (1 + np.exp(-z))
    squares = ((y - t) ** 2).reshape(COUNT, -1).sum(1).mean()
    assert measures["squared_error"] == pytest.approx(squares, rel=1e-6)
    assert {type(value) for value in measures.values()} == {float}


def test_losses_of_auxiliary_heads_are_added_but_not_measured(split):
    z = draw_outputs([3, CLASSES])
    images = split.images.astype(np.float32)
    for loss in ("squared_hinge", "softmax_cross_entropy"):
        objective = make_objective(loss)
        losses = np.asarray(objective(images, split.labels, z))
        heads = [np.asarray(objective(images, split.labels, z[:, i])) for i in range(3)]
        np.testing.assert_allclose(losses, np.sum(heads, 0), 1e-6)
        first = objective.measure([(split, z[:, 0])])
        assert objective.measure([(split, z)]) == first


@pytest.mark.parametrize("wrong", [0, 1, COUNT])
def test_measures_of_the_softmax_cross_entropy_equal_known_values(split, wrong):
    z = np.zeros((COUNT, CLASSES), np.float32)
    predicted = np.where(np.arange(COUNT) < wrong, split.labels + 1, split.labels)
    z[np.arange(COUNT), predicted % CLASSES] = 3
    measures = make_objective("softmax_cross_entropy").measure([(split, z)])
    assert list(measures) == ["loss", "error_percent"]
    assert measures["error_percent"] == 100 * wrong / COUNT
    log_sum = np.log(np.exp(3) + CLASSES - 1)
    expected = log_sum - 3 * (COUNT - wrong) / COUNT
    assert measures["loss"] == pytest.approx(expected, rel=1e-5)
    assert {type(value) for value in measures.values()} == {float}


def test_a_mean_over_10000_images_has_no_rounding_error_of_float32():
    count = 10_000
    split = Split(np.full((count, 2, 2, 1), 77, "uint8"), np.zeros(count, "int32"))
    z = np.full((count, 2, 2, 1), 0.3, np.float32)
    measures = make_objective("half_squared_error").measure([(split, z)])
    expected = 4 * (np.float64(np.float32(0.3)) - 77 / 255) ** 2
    assert measures["squared_error"] == pytest.approx(expected, rel=1e-4)
    single = make_objective("half_squared_error").measure([(split.first(1), z[:1])])
    assert measures == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("loss", IMAGE_LOSSES)
@pytest.mark.parametrize("jit", [False, True])
def test_a_traced_objective_equals_the_eager_objective(split, loss, jit):
    traced = tf.function(make_objective(loss), jit_compile=jit)
    images = split.images.astype(np.float32)
    arguments = images, split.labels, draw_outputs(SHAPE)
    expected = np.asarray(make_objective(loss)(*arguments))
    np.testing.assert_allclose(traced(*arguments), expected, 1e-6)


@pytest.mark.parametrize(
    ("measures", "prefix", "text"),
    [
        ({"loss": 0.08124, "error_percent": 2.376}, "", "error 2.38 %, loss 0.0812"),
        (
            {"loss": 75.3, "squared_error": 4.7119},
            *("", "squared error 4.712, loss 75.3000"),
        ),
        ({"test_loss": 1, "validation_loss": 2}, "test_", "loss 1.0000"),
        (
            {"t_top5_error_percent": 9.996, "t_loss": 2, "t_error_percent": 31.5},
            *("t_", "error 31.50 %, top-5 error 10.00 %, loss 2.0000"),
        ),
        (
            {"test_loss": 1, "test_error_percent": 0, "validation_error_percent": 3},
            *("validation_", "error 3.00 %"),
        ),
        ({}, "", ""),
    ],
)
def test_describe_formats_measures_with_the_prefix(measures, prefix, text):
    assert describe(measures, prefix) == text


@pytest.mark.parametrize("loss", ["softmax_cross_entropy", *IMAGE_LOSSES])
@pytest.mark.parametrize("classes", [CLASSES, 200])
def test_measures_do_not_depend_on_the_batches(split, loss, classes):
    z = draw_outputs(SHAPE if loss in IMAGE_LOSSES else [classes])
    expected = make_objective(loss).measure([(split, z)])
    ends = (0, 5, 6, COUNT)
    parts = (
        (Split(split.images[a:b], split.labels[a:b]), z[a:b])
        for a, b in zip(ends, ends[1:], strict=False)
    )
    measures = make_objective(loss).measure(parts)
    assert measures == pytest.approx(expected, rel=1e-12) and measures["loss"] > 0


@pytest.mark.parametrize(
    ("larger", "equal", "missed"),
    [(0, 0, 0), (4, 0, 0), (5, 0, 1), (0, 100, 1), (0, 4, 0), (2, 2, 0), (2, 3, 1)],
)
def test_top5_error_counts_equal_outputs_as_larger(larger, equal, missed):
    z = np.full((1, 101), -1, np.float32)
    z[0, :larger] = 2
    z[0, 100 - equal : 100] = z[0, 100] = 1
    split = Split(np.zeros((1, 1, 1, 1), "uint8"), np.array([100], "int32"))
    measures = make_objective("softmax_cross_entropy").measure([(split, z)])
    assert measures["top5_error_percent"] == 100 * missed


@pytest.mark.parametrize(("classes", "is_measured"), [(100, False), (101, True)])
def test_top5_error_needs_more_than_100_classes(split, classes, is_measured):
    measures = make_objective("softmax_cross_entropy").measure([(split, draw_outputs([classes]))])
    assert ("top5_error_percent" in measures) == is_measured


@pytest.mark.parametrize("heads", [(), (3,)])
def test_loss_plus_smoothing_is_the_cross_entropy_with_smoothed_labels(split, heads):
    z = draw_outputs([*heads, CLASSES])
    unsmoothed = Objective("softmax_cross_entropy", {"kind": "none"})
    assert unsmoothed.smoothing(split.labels, z) is None
    smoothed = Objective("softmax_cross_entropy", {"kind": "none"}, label_smoothing=0.1)
    added = smoothed.smoothing(split.labels, z)
    losses = np.asarray(smoothed(None, split.labels, z)) + np.asarray(added)
    z = z.astype(np.float64).reshape(COUNT, -1, CLASSES)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    target = 0.9 * np.eye(CLASSES)[split.labels] + 0.1 / CLASSES
    expected = -(target[:, None] * log_p).sum((1, 2))
    np.testing.assert_allclose(losses, expected, 1e-5)
