"""Training objectives: targets, losses, error measures and label smoothing."""

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.data.dataset import Split
from elu_zoo.evaluation.loss import Objective, describe

COUNT, SHAPE, CLASSES = 12, (5, 4, 2), 7
IMAGE_LOSSES = ("sigmoid_cross_entropy", "half_squared_error")


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


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("loss", IMAGE_LOSSES)
def test_targets_of_image_losses_are_the_preprocessed_images(split, loss, jit):
    z, images = draw_outputs(SHAPE), split.images.astype(np.float32)
    objective = tf.function(make_objective(loss, 1 / 510), jit_compile=jit)
    expected = image_losses(loss, z.astype(np.float64), split.images / 510)
    for labels in (split.labels, split.labels[::-1]):
        np.testing.assert_allclose(objective(images, labels, z), expected, 1e-5)


@pytest.mark.parametrize("heads", [(), (3,)])
def test_targets_of_the_softmax_cross_entropy_are_labels_that_may_be_smoothed(split, heads):
    """Losses of auxiliary heads are added."""
    z = draw_outputs([*heads, CLASSES])
    unsmoothed = make_objective("softmax_cross_entropy")
    assert unsmoothed.smoothing(split.labels, z) is None
    smoothed = Objective("softmax_cross_entropy", {"kind": "none"}, label_smoothing=0.1)
    losses = np.asarray(smoothed(None, split.labels, z))
    added = np.asarray(smoothed.smoothing(split.labels, z))
    z = z.astype(np.float64).reshape(COUNT, -1, CLASSES)
    log_p = z - np.log(np.exp(z).sum(-1, keepdims=True))
    labels = np.eye(CLASSES)[split.labels]
    np.testing.assert_allclose(losses, -(labels[:, None] * log_p).sum((1, 2)), 1e-5)
    target = 0.9 * labels + 0.1 / CLASSES
    np.testing.assert_allclose(losses + added, -(target[:, None] * log_p).sum((1, 2)), 1e-5)


@pytest.mark.parametrize("loss", IMAGE_LOSSES)
def test_measures_of_image_losses_equal_float64(split, loss):
    """The loss is of the outputs; the squared error is of their sigmoid or identity."""
    z = draw_outputs(SHAPE)
    measures = make_objective(loss).measure([(split, z)])
    assert list(measures) == ["loss", "squared_error"]
    z, t = z.astype(np.float64), split.images / 255
    expected = image_losses(loss, z, t).mean()
    assert measures["loss"] == pytest.approx(expected, rel=1e-6)
    y = z if loss == "half_squared_error" else 1 / (1 + np.exp(-z))
    squares = ((y - t) ** 2).reshape(COUNT, -1).sum(1).mean()
    assert measures["squared_error"] == pytest.approx(squares, rel=1e-6)
    assert {type(value) for value in measures.values()} == {float}


def test_auxiliary_heads_are_not_measured(split):
    z = draw_outputs([3, CLASSES])
    for loss in ("squared_hinge", "softmax_cross_entropy"):
        first = make_objective(loss).measure([(split, z[:, 0])])
        assert make_objective(loss).measure([(split, z)]) == first


@pytest.mark.parametrize("wrong", [0, 1])
def test_measures_of_the_softmax_cross_entropy_equal_known_values(split, wrong):
    z = np.zeros((COUNT, CLASSES), np.float32)
    predicted = np.where(np.arange(COUNT) < wrong, split.labels + 1, split.labels)
    z[np.arange(COUNT), predicted % CLASSES] = 3
    measures = make_objective("softmax_cross_entropy").measure([(split, z)])
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


@pytest.mark.parametrize(
    ("measures", "prefix", "text"),
    [
        ({"loss": 75.3, "squared_error": 4.7119}, "", "squared error 4.712, loss 75.3000"),
        (
            {"t_top5_error_percent": 9.996, "t_loss": 2, "t_error_percent": 31.5, "v_loss": 1},
            *("t_", "error 31.50 %, top-5 error 10.00 %, loss 2.0000"),
        ),
    ],
)
def test_describe_formats_measures_with_the_prefix(measures, prefix, text):
    assert describe(measures, prefix) == text


@pytest.mark.parametrize("loss", ["softmax_cross_entropy", "half_squared_error"])
def test_measures_do_not_depend_on_the_batches(split, loss):
    z = draw_outputs(SHAPE if loss in IMAGE_LOSSES else [200])
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
    [(0, 0, 0), (4, 0, 0), (5, 0, 1), (0, 100, 1), (2, 2, 0), (2, 3, 1)],
)
def test_top5_error_counts_equal_outputs_as_larger(larger, equal, missed):
    z = np.full((1, 101), -1, np.float32)
    z[0, :larger] = 2
    z[0, 100 - equal : 100] = z[0, 100] = 1
    split = Split(np.zeros((1, 1, 1, 1), "uint8"), np.array([100], "int32"))
    measures = make_objective("softmax_cross_entropy").measure([(split, z)])
    assert measures["top5_error_percent"] == 100 * missed
    z[0, 100] = np.nan  # NumPy's argmax is the first NaN
    wrong = make_objective("softmax_cross_entropy").measure([(split, z)])
    assert wrong["top5_error_percent"] == wrong["error_percent"] == 100


@pytest.mark.parametrize(("classes", "is_measured"), [(100, False), (101, True)])
def test_top5_error_needs_more_than_100_classes(split, classes, is_measured):
    measures = make_objective("softmax_cross_entropy").measure([(split, draw_outputs([classes]))])
    assert ("top5_error_percent" in measures) == is_measured
