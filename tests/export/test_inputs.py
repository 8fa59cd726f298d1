"""The images of elu-zoo-predict, and the warnings about them."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import load
from elu_zoo.export import inputs
from elu_zoo.export.predictor import Predictor

PAPER = np.full((2, 28, 28, 1), 255, np.uint8)
ROWS = [{"image": "a.png"}, {"image": "b.png"}]


@pytest.mark.parametrize("name", load.ENCODED)
def test_encoded_data_sets_are_refused(name):
    with pytest.raises(errors.UsageError, match=f"{name} are not loaded into memory"):
        inputs.load_test_images(name, None, 5, None)


@pytest.mark.parametrize(
    ("dataset", "warning"),
    [("mnist", "dark on light"), (None, "dark on light"), ("x", "")],
)
def test_dark_on_light_digits_get_a_warning(dataset, warning):
    given = inputs.Inputs(PAPER, ROWS)
    found = given.complaints(Predictor(None, (28, 28, 1), "01", dataset))
    assert len(found) == bool(warning) and warning in "".join(found)


def test_left_out_files_come_first():
    given = inputs.Inputs(PAPER // 255, ROWS, ["c.gif cannot be used: why."])
    found = given.complaints(Predictor(None, (28, 28, 1), "01"))
    assert found == [
        "c.gif cannot be used: why.",
        "2 of 2 images (a.png, b.png) look like pixels in [0, 1]; expected 0..255.",
    ]


def test_inverse_gets_no_warning():
    given = inputs.Inputs(PAPER - 3, ROWS).inverse()
    assert given.inverted and (given.images == 3).all()
    assert given.complaints(Predictor(None, (28, 28, 1), "01")) == []


def test_scale_of_inverted_images_gets_a_warning():
    small = np.zeros((1, 28, 28, 1), np.uint8) + np.uint8(1)
    inverted = inputs.Inputs(small, [{"image": "a"}]).inverse()
    found = inverted.complaints(Predictor(None, (28, 28, 1), "01", "cifar10"))
    assert found == ["a looks like pixels in [0, 1]; expected 0..255."]
