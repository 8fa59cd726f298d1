"""Warnings for images whose background or scale is unlike the training images."""

import numpy as np
import pytest

from elu_zoo.data import plausibility

BLACK = np.zeros((1, 28, 28, 1), np.uint8)
INK = BLACK.copy()
INK[:, 4:24, 12:16] = 200
NAMES = [f"{i}.png" for i in range(5)]


def complaint(images):
    return plausibility.ground_complaint(images, NAMES[: len(images)], "-digit")


@pytest.mark.parametrize(
    ("image", "is_listed"),
    [
        (INK, False),
        (BLACK, False),
        (BLACK + 40, False),
        (BLACK + 41, True),
        (255 - INK, True),
        (90 + INK // 2, True),  # chalk on grey
        (np.concatenate([BLACK[:, :27] + 255, BLACK[:, :1]], 1), True),
        (np.repeat(255 - INK, 3, -1), True),
    ],
)
def test_backgrounds_that_are_not_black_are_listed(image, is_listed):
    assert complaint(image).startswith("0.png: ") == is_listed == bool(complaint(image))


@pytest.mark.parametrize(
    ("highest", "is_fraction"), [(0, False), (0.2, True), (1, True), (1.5, False), (255, False)]
)
def test_images_with_pixels_in_0_to_1_are_listed(highest, is_fraction):
    text = plausibility.scale_complaint(INK / 200 * highest, ["a"])
    assert bool(text) == is_fraction == ("[0, 1]" in text)
    assert plausibility.scale_complaint(INK[:0], []) == ""


@pytest.mark.parametrize(
    ("shape", "dataset", "expected"),
    [
        ((28, 28, 1), None, True),
        ((28, 28, 3), None, False),
        ((28, 28, 1), "mnist_own", False),
        ((32, 32, 1), "mnist", True),
    ],
)
def test_networks_that_take_light_on_black(shape, dataset, expected):
    assert plausibility.takes_light_on_black(shape, dataset) == expected


@pytest.mark.parametrize(
    ("bright", "words"),
    [
        ([0, 3], ("2 of 5 images (0.png, 3.png)", "pass -digit.")),
        (range(4), ("(0.png, 1.png, 2.png, 3.png)",)),
    ],
)
def test_one_complaint_states_all_images(bright, words):
    images = np.concatenate([255 - INK if i in bright else INK for i in range(5)])
    assert all(word in complaint(images) for word in words)
