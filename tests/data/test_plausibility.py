"""Warnings for images whose background or scale is unlike the training images."""

import numpy as np
import pytest

from elu_zoo.data import plausibility
from elu_zoo.data.load import load

BLACK = np.zeros((1, 28, 28, 1), np.uint8)
INK = BLACK.copy()
INK[:, 4:24, 12:16] = 200
NAMES = [f"{i}.png" for i in range(9)]

DARK = "dark on light; this network was trained on light digits on black: pass -digit."
LIGHT = "light on dark already: leave -invert out."
GREY = "of 255 around the digit); this network was trained on black: pass -digit"
PAPER, WALL = f"{GREY} in place of -invert.", f"{GREY}."
MOVED = (
    "has ink off the centre, or smaller or larger than MNIST's; this network was "
    "trained on centred digits, 20 of 28 pixels high or wide: pass -digit."
)


def complaint(images, inverted=False):
    return plausibility.ground_complaint(images, NAMES[: len(images)], "-{}", inverted)


@pytest.mark.parametrize(
    ("image", "is_dark_on_light"),
    {
        "light_on_black": (INK, False),
        "dark_on_white": (255 - INK, True),
        "dark_on_dim_paper": (120 - INK // 2, True),
        "chalk_on_grey": (90 + INK // 2, False),
        "black": (BLACK, False),
        "white": (255 - BLACK, True),
        "nearly_black_paper": (40 - INK // 8, False),
        "border_of_paper": (BLACK + 65, True),
        "border_of_no_paper": (BLACK + 64, False),
        "one_bright_edge": (
            np.concatenate([BLACK[:, :27] + 255, BLACK[:, :1]], 1),
            True,
        ),
        "colour": (np.repeat(255 - INK, 3, -1), True),
    }.values(),
)
def test_the_complaint_states_dark_on_light_images(image, is_dark_on_light):
    assert (complaint(image) == f"0.png is {DARK}") == is_dark_on_light


@pytest.mark.parametrize(
    ("image", "is_moved"),
    [
        (INK, False),
        (np.roll(INK, 1, 2), False),
        (np.roll(INK, -1, 1), True),
        (np.roll(INK, 2, 2), True),
        (INK * (np.arange(28) < 18)[:, None, None], True),
        (BLACK, False),
        (np.pad(INK, [(0, 0), (8, 0), (8, 0), (0, 0)]), False),  # not of MNIST's size
    ],
)
def test_the_complaint_states_ink_at_another_place(image, is_moved):
    assert complaint(image) == (f"0.png {MOVED}" if is_moved else "")


@pytest.mark.data("mnist")
def test_images_of_mnist_are_not_misplaced():
    """The docstring of `misplaced` has these numbers."""
    data = load("mnist")
    assert plausibility.misplaced(data.test.images).sum() == 0
    assert plausibility.misplaced(data.train.images).sum() == 1


def test_mnist_is_light_on_black(mnist_5k):
    images = mnist_5k.test.images
    names = [str(i) for i in range(len(images))]
    assert plausibility.ground_complaint(images, names, "-{}", False) == ""
    text = plausibility.ground_complaint(255 - images, names, "-{}", False)
    assert text == f"1000 of 1000 images (0, 1, 2, ...) are {DARK}"


@pytest.mark.parametrize(
    ("highest", "is_fraction"), [(0, False), (0.2, True), (1, True), (1.5, False), (255, False)]
)
def test_the_complaint_states_images_with_pixels_in_0_to_1(highest, is_fraction):
    text = plausibility.scale_complaint(INK / 200 * highest, ["a"])
    sentence = "a looks like pixels in [0, 1]; expected 0..255."
    assert text == (sentence if is_fraction else "")


def test_an_empty_batch_has_no_complaint():
    assert plausibility.scale_complaint(INK[:0], []) == ""


@pytest.mark.parametrize(
    ("shape", "dataset", "expected"),
    [
        ((28, 28, 1), None, True),
        ((28, 28, 1), "mnist", True),
        ((28, 28, 1), "mnist_5k", True),
        ((28, 28, 1), "mnist_own", False),
        ((28, 28, 3), None, False),
        ((32, 32, 1), "mnist", True),
    ],
)
def test_networks_that_take_light_on_black(shape, dataset, expected):
    assert plausibility.takes_light_on_black(shape, dataset) == expected


@pytest.mark.parametrize(
    ("dark", "inverted", "sentence"),
    [
        ([], False, ""),
        ([2], False, f"2.png is {DARK}"),
        ([0, 3], False, f"2 of 5 images (0.png, 3.png) are {DARK}"),
        (range(4), False, f"4 of 5 images (0.png, 1.png, 2.png, ...) are {DARK}"),
        ([0, 3], True, f"2 of 5 images (0.png, 3.png) are {LIGHT}"),
    ],
)
def test_one_complaint_states_all_images(dark, inverted, sentence):
    images = np.concatenate([255 - INK if i in dark else INK for i in range(5)])
    assert complaint(images, inverted) == sentence


@pytest.mark.parametrize(
    ("borders", "inverted", "sentence"),
    [
        ([0, 40], True, ""),
        ([0, 41], True, f"1.png has a grey background (41 {PAPER}"),
        ([85], False, f"0.png has a grey background (85 {WALL}"),
        (
            [135, 0, 85, 99],
            True,
            "3 of 4 images (0.png, 2.png, 3.png) have a grey background (85 to 135 " + PAPER,
        ),
    ],
)
def test_the_complaint_states_images_with_grey_backgrounds(borders, inverted, sentence):
    images = np.concatenate([np.where(INK, 255, border) for border in borders])
    assert complaint(images, inverted) == sentence


def test_each_kind_of_background_has_a_sentence():
    images = np.concatenate([255 - INK, np.where(INK, 255, 85)])
    expected = f"0.png is {DARK} 1.png has a grey background (85 {WALL}"
    assert complaint(images) == expected
