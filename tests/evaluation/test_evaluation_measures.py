"""Errors on changed images, and the choice of a temperature for calibration."""

import types

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import image_changes
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.evaluation import calibrate, corruptions


@pytest.fixture
def split():
    images = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 1), "uint8")
    return Split(images, np.arange(6, dtype="int32") % 3)


def test_every_kind_and_severity_is_measured_on_the_changed_images(split):
    evaluated = []

    def evaluator(part):
        evaluated.append(part.images)
        np.testing.assert_array_equal(part.labels, split.labels)
        return {"error_percent": float(len(evaluated))}

    rows = corruptions.measure(evaluator, split, seed=2)
    assert rows[0] == {
        "kind": "none", "severity": 0, "images": 6, "error_percent": 1.0
    }  # fmt: skip
    assert len(rows) == 1 + 5 * len(image_changes.LEVELS)
    np.testing.assert_array_equal(evaluated[0], split.images)
    for row, images in zip(rows[1:], evaluated[1:], strict=True):
        case = row["kind"], row["severity"]
        expected = image_changes.change(split.images, *case, seed=2)
        np.testing.assert_array_equal(images, expected)
    table = corruptions.by_kind(rows)
    assert [line["error, %"] for line in table] == list(image_changes.LEVELS)
    first = {"none": "1.00", "1": "2.00", "5": "6.00", "mean": "4.00"}
    assert first.items() <= table[0].items()


def test_images_that_are_not_in_memory_are_refused():
    with pytest.raises(errors.UsageError, match="memory"):
        corruptions.measure(None, types.SimpleNamespace(is_encoded=True))


class Classifier:
    """A fake evaluator with wrong logits for every third image."""

    def __init__(self):
        self.splits = []

    def responses(self, split):
        self.splits.append(split)
        logits = 9.0 * np.eye(3)[split.labels]
        logits[::3] = logits[::3, ::-1] + 0.1
        return {"loss": 0.5}, logits, split.labels


HELD_OUT = {
    "tag": "x",
    "dataset": "own",
    "config": {"data": {"train_on_validation": False}},
    "examples": {"validation": 6},
}
TRAINED = HELD_OUT | {"config": {"data": {"train_on_validation": True}}}
OF_SIX = "The temperature was fitted on the 6 validation images of own, on which x was not trained."
CHANGED = "No temperature: the images have changed since x was trained."
STORED = {"calibration": {"temperature": 2.0, "temperature_source": "Of a twin."}}


@pytest.mark.parametrize(
    ("entry", "name", "is_fitted", "temperature", "notes"),
    [
        (HELD_OUT, "test", True, None, [OF_SIX]),
        (TRAINED, "test", False, "absent", [calibrate.NO_TWIN]),
        (TRAINED | STORED, "test", False, 2.0, []),
        (HELD_OUT | {"dataset": "other"}, "test", False, "absent", []),
        (HELD_OUT | {"images": "others"}, "test", False, "absent", [CHANGED]),
        (HELD_OUT, "validation", False, "absent", []),
        (None, "test", False, "absent", []),
    ],
)
def test_the_temperature_is_that_of_the_entry_or_fitted_on_held_out_images(
    split, entry, name, is_fitted, temperature, notes
):
    other = Split(split.images, split.labels[::-1].copy())
    data = ImageData("own", split, other, split, ("a", "b", "c"), "", "", "own")
    evaluation = calibrate.evaluate(classifier := Classifier(), data, name, entry)
    assert evaluation[1][:-1] == notes and evaluation[0]["loss"] == 0.5
    assert "only 6 images" in evaluation[1][-1]
    expected = [other, split] if is_fitted else [getattr(data, name)]
    assert [id(x) for x in classifier.splits] == [id(x) for x in expected]
    value = evaluation[0].get("temperature", "absent")
    assert value == temperature or (is_fitted and value > 1)
    text = calibrate.describe(evaluation[0])
    assert "loss 0.5000\ncalibration: nll_nats " in text
    assert ("temperature" in text) == (temperature != "absent")
    encoded = types.SimpleNamespace(train=types.SimpleNamespace(is_encoded=True))
    assert calibrate.temperature(HELD_OUT, None, encoded)[0] is None  # test images
