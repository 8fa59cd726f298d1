"""What a config's entry `data` does to images, against loops over them."""

import numpy as np
import pytest
from ml_collections import ConfigDict

from elu_zoo.layers import statistics_file
from elu_zoo.training import augmentation

SIDE, CROP = 9, 6


@pytest.fixture
def mean(session_home):
    """A mean image, and the name of its file."""
    image = np.random.default_rng(1).uniform(0, 255, (SIDE, SIDE, 3))
    folder = session_home / "statistics"
    path = statistics_file.write_mean(folder, "augmented-0123abcd-9", image)
    return image, path.stem


def draw(corners, count):
    high = (corners, corners, 2)
    return np.random.default_rng(2).integers(0, high, (count, 3)).astype("int32")


def cropped(images, draws, size):
    return np.stack(
        [
            image[y : y + size, x : x + size][:, :: -1 if flip else 1]
            for image, (y, x, flip) in zip(images, draws, strict=True)
        ]
    )


def test_none():
    data = ConfigDict({"augmentation": "none"})
    assert augmentation.create(data, {"kind": "gcn_zca"}) is None


def test_crops_of_padded_images():
    data = ConfigDict({"augmentation": "pad_crop_flip"})
    made = augmentation.create(data, {"kind": "gcn_zca", "statistics": "none"})
    assert made.corners == 9  # of 4 zeros on each side
    images = np.random.default_rng(0).normal(size=(40, 7, 7, 3)).astype(np.float32)
    draws = draw(made.corners, 40)
    around = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    found = np.asarray(made(images, draws))
    np.testing.assert_array_equal(found, cropped(around, draws, 7))


@pytest.mark.parametrize("padding", [1, 8])
def test_other_zeros_around(padding):
    data = ConfigDict({"augmentation": "pad_crop_flip", "padding": padding})
    found = augmentation.create(data, {"kind": "gcn"})
    assert found.corners == 2 * padding + 1
    images = np.ones((1, 8, 8, 1), np.float32)
    cropped = np.asarray(found(images, np.array([[0, padding, 0]])))[0, :, :, 0]
    assert cropped[:padding].sum() == 0 and (cropped[padding:] == 1).all()


@pytest.mark.parametrize(
    ("preprocessing", "value"),
    [
        ({"kind": "rescale", "scale": 1 / 255}, 0),
        ({"kind": "rescale", "scale": 1 / 128, "offset": -1}, 128),
    ],
)
def test_what_is_around_is_scaled_to_zero(preprocessing, value):
    data = ConfigDict({"augmentation": "pad_crop_flip", "padding": 1})
    made = augmentation.create(data, preprocessing)
    found = made(np.ones((1, 2, 2, 1), np.float32), np.array([[0, 1, 0]]))
    np.testing.assert_array_equal(np.asarray(found)[0, 0, :, 0], [value] * 2)


def test_crops_of_images_less_their_mean(mean):
    image, statistics = mean
    sizes = {"image_size": SIDE, "crop_size": CROP}
    data = ConfigDict({"augmentation": "crop_flip", **sizes})
    preprocessing = {"kind": "mean_crop", "statistics": statistics, "crop": [CROP] * 2}
    made = augmentation.create(data, preprocessing)
    assert made.corners == SIDE - CROP + 1
    images = np.random.default_rng(0).integers(0, 256, (40, SIDE, SIDE, 3))
    draws = draw(made.corners, 40)
    assert draws[:, :2].max() == made.corners - 1
    found = np.asarray(made(images.astype(np.float32), draws))
    expected = cropped(images - image, draws, CROP)
    np.testing.assert_allclose(found, expected, 0, 1e-4)
