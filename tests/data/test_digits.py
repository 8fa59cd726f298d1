"""Pictures of one digit get MNIST's form."""

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import digits, images
from elu_zoo.data.load import load

MOVES = -1, 0, 1
OUTLINE = (20, 220, 40, 41), (20, 220, 160, 161), (20, 21, 40, 161), (219, 220, 40, 161)
BLANK = np.full((120, 100, 1), 230, np.uint8)


def with_ink(*boxes, paper=BLANK, ink=40):
    """Returns paper with rectangles of ink, (top, bottom, left, right)."""
    picture = paper.copy()
    for top, bottom, left, right in boxes:
        picture[top:bottom, left:right] = ink
    return picture


def test_digits_of_mnist_stay_as_they_are(mnist_5k):
    for image in mnist_5k.test.images[:100]:
        for picture in (image, 255 - image):
            normalized, odd = digits.normalize(picture)
            np.testing.assert_array_equal(normalized, image)
            assert odd == ""


@pytest.mark.data("mnist")
@pytest.mark.slow
def test_digits_of_mnist_are_placed():
    data = load("mnist")
    assert all(digits.is_placed(x[..., 0]) for x in data.test.images)
    assert sum(not digits.is_placed(x[..., 0]) for x in data.train.images) == 1


@pytest.mark.slow
def test_size_place_polarity_and_shading_do_not_matter(mnist_5k):
    shading = np.linspace(1, 0.5, 200)
    for image in mnist_5k.test.images[:20]:
        large = images.resize(image[..., 0].astype(np.float32), (140, 140))
        ink = np.pad(np.clip(large, 0, 255), [(50, 10), (2, 58)]) / 255
        paper = (220 * (1 - 0.9 * ink) * shading)[..., None].astype(np.uint8)
        slate = (30 + 200 * ink)[..., None].astype(np.uint8)
        for picture in (paper, slate, np.pad(paper, [(15,), (9,), (0,)])):
            normalized, odd = digits.normalize(picture)
            assert odd == "" and digits.is_placed(normalized[..., 0])
            near = [np.roll(normalized, (y, x), (0, 1)) for y in MOVES for x in MOVES]
            assert np.abs(np.array(near, float) - image).mean((1, 2, 3)).min() < 12


@pytest.mark.parametrize(
    ("picture", "odd"),
    {
        "one": (with_ink((30, 80, 40, 48)), ""),
        "thin": (with_ink(*OUTLINE, paper=np.full((250, 250, 1), 230, np.uint8)), ""),
        "speck": (with_ink((30, 80, 40, 48), (90, 92, 80, 82)), ""),
        "two": (with_ink((30, 80, 20, 28), (30, 80, 60, 68)), "2 separate shapes"),
        "bar_of_a_five": (with_ink((30, 80, 40, 48), (30, 36, 60, 80)), ""),
        "at_the_edge": (with_ink((0, 80, 40, 48)), "touches the edge"),
        "frame": (with_ink((0, 9, 0, 100), (0, 120, 0, 9), (30, 80, 40, 48)), ""),
    }.values(),
)
def test_unusual_ink_gets_a_remark(picture, odd):
    normalized, remark = digits.normalize(picture)
    assert odd in remark and bool(odd) == bool(remark)
    assert normalized.shape == (28, 28, 1) and normalized.max() == 255


@pytest.mark.parametrize("noise", [0, 8, 25])
def test_an_empty_page_is_refused(noise):
    draws = np.random.default_rng(0).normal(0, noise, BLANK.shape)
    page = np.clip(BLANK * np.linspace(0.6, 1, 100)[:, None] + draws, 0, 255)
    with pytest.raises(errors.DataError, match="no ink"):
        digits.normalize(page.astype(np.uint8))
