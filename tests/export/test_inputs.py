"""Images for elu-zoo-predict, and warnings about these images."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.export import inputs
from elu_zoo.export.predictor import Predictor

PAPER = np.full((2, 28, 28, 1), 255, np.uint8)
ROWS = [{"image": "a.png"}, {"image": "b.png"}]


def test_images_on_the_disk_are_refused():
    predictor = Predictor(None, (256, 256, 3), "01", "photos", "mean_crop")
    for name, of_network in ((load.IMAGENET, None), ("photos", predictor)):
        with pytest.raises(errors.UsageError, match=f"{name} are not loaded"):
            inputs.load_test_images(name, None, 5, of_network)


@pytest.mark.parametrize(
    ("dataset", "warning"), [("mnist", "not black"), (None, "not black"), ("x", "")]
)
def test_digits_on_paper_get_a_warning(dataset, warning):
    images = inputs.Inputs(PAPER, ROWS)
    complaints = images.complaints(Predictor(None, (28, 28, 1), "01", dataset))
    assert len(complaints) == bool(warning) and warning in "".join(complaints)


@pytest.mark.parametrize("names", ["01", ""])
def test_images_are_predicted_in_small_batches(names):
    sizes = []

    def function(images):
        sizes.append(len(images))
        codes = images[:, 0, 0]
        outputs = {"probabilities": np.hstack([150.0 - codes, codes])}
        return {**outputs, "reconstructions": images, "codes": codes}

    images = np.arange(150, dtype=np.uint8).reshape(150, 1, 1, 1)
    named = inputs.Inputs(images, [{"image": str(index)} for index in range(150)])
    rows, pixels = named.predict(Predictor(function, (1, 1, 1), names), 1)
    assert sizes == [64, 64, 22]
    expected = ["0"] * 76 + ["1"] * 74 if names else [[i] for i in range(150)]
    assert [row["class" if names else "code"] for row in rows] == expected
    np.testing.assert_array_equal(pixels, None if names else images)


def test_warnings_begin_with_the_files_left_out():
    images = inputs.Inputs(PAPER // 255, ROWS, ["c.gif cannot be used: why."])
    complaints = images.complaints(Predictor(None, (28, 28, 1), "01"))
    assert complaints[0] == "c.gif cannot be used: why."
    assert "a.png, b.png" in complaints[1] and "[0, 1]" in complaints[1]
