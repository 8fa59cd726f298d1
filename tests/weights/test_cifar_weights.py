"""The published CIFAR weights keep their test errors on the real test images."""

import numpy as np
import pytest
import tensorflow as tf

import elu_zoo
from elu_zoo.data import load, statistics
from elu_zoo.export.saved_model import export_saved_model
from elu_zoo.layers import GlobalContrastNormalization
from elu_zoo.weights import manifest

TAGS = [t for t, e in manifest.published().items() if e["dataset"].startswith("cifar")]
WHITENED = [t for t in TAGS if manifest.published()[t]["preprocessing"]["kind"] == "gcn_zca"]
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.data("cifar10", "cifar100")]


def classes(model, images):
    parts = np.array_split(images, len(images) // 500)
    return np.concatenate([model.predict_on_batch(part).argmax(1) for part in parts])


def error_percent(predicted, labels):
    return 100 * float((predicted != labels).mean())


@pytest.mark.parametrize("tag", WHITENED)
def test_rounded_statistics_change_at_most_two_of_10000_predictions(tag):
    entry = manifest.published()[tag]
    data = load.load(entry["dataset"])
    # The published statistics are rounded to float16, these are not.
    fitted = statistics.fit(data.train.images, data.validation.images)
    images = GlobalContrastNormalization()(data.test.images.astype("float32"))
    flat = np.asarray(images).reshape(len(images), -1) - fitted.mean
    whitened = (flat @ fitted.matrix).astype("float32").reshape(images.shape)
    bare = elu_zoo.get_model(entry["model"], weights=tag, preprocessing=False)
    exact = error_percent(classes(bare, whitened), data.test.labels)
    assert exact == pytest.approx(entry["metrics"]["test_error_percent"], abs=0.025)


@pytest.mark.parametrize("tag", TAGS)
def test_an_export_predicts_the_same_classes(tag, tmp_path):
    entry = manifest.published()[tag]
    data = load.load(entry["dataset"])
    model = elu_zoo.get_model(entry["model"], weights=tag)
    folder = export_saved_model(model, tmp_path, name=entry["model"], class_names=entry["classes"])
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    images = data.test.images[:2000]
    exported = [
        serve(images=tf.constant(part, tf.float32))["classes"].numpy()
        for part in np.array_split(images, 4)
    ]
    np.testing.assert_array_equal(np.concatenate(exported), classes(model, images))
