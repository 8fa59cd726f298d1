"""The augmentation that a config describes, compared with loops over images."""

import numpy as np
import pytest
from sections import complete

from elu_zoo import errors
from elu_zoo.data import order
from elu_zoo.layers import AffineRecolor, statistics_file
from elu_zoo.training.step import augmentation

SIDE, CROP = 9, 6
RAW = {"kind": "rescale", "scale": 1 / 128, "offset": -1}


@pytest.fixture
def mean(session_home):
    """A mean image, and the name of its statistics file without the suffix."""
    image = np.random.default_rng(1).uniform(0, 255, (SIDE, SIDE, 3))
    folder = session_home / "statistics"
    path = statistics_file.write_mean(folder, "augmented-0123abcd-9", image)
    return image, path.stem


def draw(corners, count):
    """Returns random rows and columns below `corners`, and flips, `(count, 3)`."""
    high = (corners, corners, 2)
    return np.random.default_rng(2).integers(0, high, (count, 3)).astype("int32")


def crop(images, draws, height, width):
    """Returns crops of images, mirrored where the third draw is 1."""
    return np.stack(
        [
            image[y : y + height, x : x + width][:, :: -1 if flip else 1]
            for image, (y, x, flip) in zip(images, draws, strict=True)
        ]
    )


@pytest.mark.parametrize("cutout", [0, 3])
@pytest.mark.parametrize(("entries", "zeros"), [({}, 4), ({"padding": 1}, 1)])
def test_pad_crop_flip_crops_padded_images_and_cuts_squares_out(entries, zeros, cutout):
    data = complete(data={"augmentation": "pad_crop_flip", "cutout": cutout, **entries}).data
    augment = augmentation.create(data, {"kind": "gcn_zca"}, (7, 6, 3), 9)
    assert augment.field is None
    draws = augment.draws(3, 5, 40)
    corners = order.crops_and_flips(3, 5, 40, 2 * zeros + 1)
    np.testing.assert_array_equal(draws[:, :3], corners)
    images = np.random.default_rng(0).normal(size=(40, 7, 6, 3)).astype(np.float32)
    padded = np.pad(images, ((0, 0), (zeros, zeros), (zeros, zeros), (0, 0)))
    expected = crop(padded, corners, 7, 6)
    if cutout:
        np.testing.assert_array_equal(draws[:, 3:], order.centres(3, 5, 40, 7, 6))
        for image, (row, column) in zip(expected, draws[:, 3:], strict=True):
            image[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2] = 0
    np.testing.assert_array_equal(np.asarray(augment(images, draws)), expected)


@pytest.mark.parametrize(
    ("preprocessing", "value"),
    [(RAW, 128), ({"kind": "rescale", "scale": 0.5, "offset": [-40, -60, -50]}, 100)],
)
def test_padded_and_cut_pixels_are_zero_after_rescaling(preprocessing, value):
    data = complete(data={"augmentation": "pad_crop_flip", "cutout": 1, "padding": 1}).data
    augment = augmentation.create(data, preprocessing, (2, 2, 1), 9)
    crops = augment(np.ones((1, 2, 2, 1), np.float32), np.array([[0, 1, 0, 1, 1]]))
    np.testing.assert_array_equal(np.asarray(crops)[0, :, :, 0], [[value] * 2, [1, value]])


def test_crop_flip_subtracts_the_mean_image_before_it_crops(mean):
    image, statistics = mean
    sizes = {"image_size": SIDE, "crop_size": CROP}
    data = complete(data={"augmentation": "crop_flip", **sizes}).data
    preprocessing = {"kind": "mean_crop", "statistics": statistics, "crop": [CROP] * 2}
    augment = augmentation.create(data, preprocessing, (SIDE, SIDE, 3), 9)
    np.testing.assert_array_equal(
        augment.draws(3, 5, 40), order.crops_and_flips(3, 5, 40, SIDE - CROP + 1)
    )
    images = np.random.default_rng(0).integers(0, 256, (40, SIDE, SIDE, 3))
    draws = draw(SIDE - CROP + 1, 40)
    assert draws[:, :2].max() == SIDE - CROP
    crops = np.asarray(augment(images.astype(np.float32), draws))
    expected = crop(images - image, draws, CROP, CROP)
    np.testing.assert_allclose(crops, expected, 0, 1e-4)


@pytest.mark.parametrize(
    ("entries", "shape", "field"),
    [
        ({"field_size": 20}, (8, 8, 3), (20, 20, 3)),
        ({"field_size": 8}, (8, 8, 1), None),
        ({}, (8, 6, 3), (8, 8, 3)),
    ],
)
def test_affine_recolor_draws_images_in_a_field(entries, shape, field):
    data = complete(data={"augmentation": "affine_recolor", **entries}).data
    augment = augmentation.create(data, RAW, shape, 9)
    assert augment.field == field
    draws = augment.draws(3, 5, 12)
    count = AffineRecolor.draws(shape[-1])
    np.testing.assert_array_equal(draws, order.integers(3, 5, 12, count))
    images = np.full((12, *shape), 200, "float32")
    expected = AffineRecolor(max(field or shape), 128)(images, draws)
    np.testing.assert_array_equal(augment(images, draws), expected)


def test_a_field_smaller_than_the_images_is_refused():
    data = complete(data={"augmentation": "affine_recolor", "field_size": 7}).data
    with pytest.raises(errors.UsageError, match="field"):
        augmentation.create(data, RAW, (8, 8, 3), 9)


@pytest.mark.parametrize(
    # region: the pixels that images have in epochs without augmentation
    ("entries", "region"),
    [
        ({"augmentation": "pad_crop_flip", "cutout": 0, "padding": 2}, np.s_[:, :]),
        ({"augmentation": "pad_crop_flip", "cutout": 3}, np.s_[:, :]),
        ({"augmentation": "affine_recolor"}, np.s_[:, :]),
        (
            {"augmentation": "crop_flip", "image_size": SIDE, "crop_size": CROP},
            np.s_[:, 1:-2, 1:-2],
        ),
    ],
)
def test_the_last_epochs_are_not_augmented(entries, region, mean):
    data = complete(data={**entries, "whole_epochs": 2}).data
    preprocessing = RAW
    if data.augmentation == "crop_flip":
        preprocessing = {"kind": "mean_crop", "statistics": mean[1], "crop": [CROP] * 2}
    augment = augmentation.create(data, preprocessing, (SIDE, SIDE, 3), 9)
    images = np.random.default_rng(0).integers(0, 256, (8, SIDE, SIDE, 3))
    unchanged = (images - (mean[0] if "image_size" in data else 0))[region]
    images = images.astype(np.float32)
    for epoch, equal in ((6, False), (7, True), (8, True)):
        draws = augment.draws(0, epoch, 8)
        assert draws.dtype == np.int32
        augmented = np.asarray(augment(images, draws))
        assert np.allclose(augmented, unchanged, 0, 1e-4) == equal
