"""Images that a network would take for something else."""

import numpy as np
import pytest

from elu_zoo.data import load, plausibility

BLACK = np.zeros((1, 28, 28, 1), np.uint8)
INK = BLACK.copy()
INK[:, 8:20, 12:16] = 200
NAMES = [f"{i}.png" for i in range(9)]


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
        "one_bright_edge": (np.concatenate([BLACK[:, :27] + 255, BLACK[:, :1]], 1), 1),
        "colour": (np.repeat(255 - INK, 3, -1), True),
    }.values(),
)
def test_dark_on_light(image, is_dark_on_light):
    assert plausibility.are_dark_on_light(image).tolist() == [is_dark_on_light]


def test_mnist_is_light_on_black():
    data = load.load("mnist_5k")
    splits = (data.train, data.validation, data.test)
    images = np.concatenate([split.images for split in splits])
    names = [str(i) for i in range(5000)]
    assert plausibility.ground_complaint(images, names, "--invert", False) == ""
    assert plausibility.are_dark_on_light(255 - images).all()


@pytest.mark.parametrize(
    ("highest", "is_fractions"),
    [(0, False), (0.2, True), (1, True), (1.5, False), (2, False), (255, False)],
)
def test_fractions(highest, is_fractions):
    image = INK / 200 * highest
    assert plausibility.are_fractions(image).tolist() == [is_fractions]


@pytest.mark.parametrize(
    ("shape", "dataset", "expected"),
    [
        ((28, 28, 1), None, True),
        ((28, 28, 1), "mnist", True),
        ((28, 28, 1), "mnist_5k", True),
        ((28, 28, 1), "mnist_own", False),
        ((28, 28, 3), None, False),
        ((32, 32, 1), None, False),
        ((32, 32, 1), "mnist", True),
    ],
)
def test_networks_that_take_light_on_black(shape, dataset, expected):
    assert plausibility.takes_light_on_black(shape, dataset) == expected


REST = "dark on light; this network was trained on light digits on black: pass -i."
ALREADY = "light on dark already: leave -i out."
RAISE = "this network was trained on black: raise the contrast"
PAPER = f"of 255 around the digit); {RAISE} until the paper is white."
WALL = f"of 255 around the digit); {RAISE} until the background is black."


@pytest.mark.parametrize(
    ("dark", "inverted", "sentence"),
    [
        ([], False, ""),
        ([2], False, f"2.png is {REST}"),
        ([0, 3], False, f"2 of 5 images (0.png, 3.png) are {REST}"),
        (range(4), False, f"4 of 5 images (0.png, 1.png, 2.png, ...) are {REST}"),
        ([2], True, f"2.png is {ALREADY}"),
        ([0, 3], True, f"2 of 5 images (0.png, 3.png) are {ALREADY}"),
    ],
)
def test_one_sentence_names_the_images(dark, inverted, sentence):
    images = np.concatenate([255 - INK if i in dark else INK for i in range(5)])
    said = plausibility.ground_complaint(images, NAMES[:5], "-i", inverted)
    assert said == sentence


@pytest.mark.parametrize(
    ("borders", "inverted", "sentence"),
    [
        ([0, 40], True, ""),
        ([0, 41], True, f"1.png has a grey background (41 {PAPER}"),
        ([85, 0], True, f"0.png has a grey background (85 {PAPER}"),
        ([85], False, f"0.png has a grey background (85 {WALL}"),
        (
            [135, 0, 85, 99],
            True,
            "3 of 4 images (0.png, 2.png, 3.png) have a grey background (85 to 135 "
            + PAPER,
        ),
    ],
)
def test_grey_backgrounds(borders, inverted, sentence):
    """A digit of 255 on them, as dark ink on grey paper is once it is inverted."""
    images = np.concatenate([np.where(INK, 255, border) for border in borders])
    names = NAMES[: len(borders)]
    assert plausibility.ground_complaint(images, names, "-i", inverted) == sentence


def test_both_kinds_of_background():
    images = np.concatenate([255 - INK, np.where(INK, 255, 85)])
    said = plausibility.ground_complaint(images, NAMES[:2], "-i", False)
    assert said == f"0.png is {REST} 1.png has a grey background (85 {WALL}"


def test_the_sentence_of_fractions():
    images = np.concatenate([INK, INK / 200, INK])
    said = plausibility.scale_complaint(images, NAMES[:3])
    assert said == "1.png looks like pixels in [0, 1]; expected 0..255."
    assert plausibility.scale_complaint(images[:0], []) == ""
