"""Warnings about images whose scale or background differs from the training images."""

from collections.abc import Sequence

import numpy as np

DIGITS = ("mnist", "mnist_5k")  # data sets of light digits on black
_SHAPE = (28, 28, 1)  # of the images of DIGITS
_PAPER = 64  # a brighter border may be paper
_BLACK = 40  # a brighter border is not black; MNIST's borders are 0
_NAMED = 3  # images in a message


def takes_light_on_black(shape: Sequence[int], dataset: str | None) -> bool:
    """Whether a network was trained on light digits on black.

    Args:
        shape: `(height, width, channels)` of its images.
        dataset: name of the data set that it was trained on; if it is None, unknown,
            the shape decides.
    """
    return tuple(shape) == _SHAPE if dataset is None else dataset in DIGITS


def scale_complaint(images: np.ndarray, names: Sequence[str]) -> str:
    """Returns a sentence that names images that look like pixels in [0, 1], or "".

    Their values never exceed 1. A black image is the same on either scale, and is
    not named.

    Args:
        images: `(batch, height, width, channels)`.
        names: name of each image.
    """
    highest = images.max(axis=(1, 2, 3), initial=0)
    text = " like pixels in [0, 1]; expected 0..255."
    return _sentence(names, (highest > 0) & (highest <= 1), "looks", "look", text)


def ground_complaint(
    images: np.ndarray, names: Sequence[str], option: str, inverted: bool
) -> str:
    """Returns sentences that name images whose background is not black, or "".

    The border of an image that is dark on light, such as ink on paper, is bright, and
    not darker than the whole image. Other images may have a grey border.

    Args:
        images: `(batch, height, width, channels)`, 0..255, as they are given to a
            network that `takes_light_on_black`.
        names: name of each image.
        option: the option that inverts images, as the user writes it.
        inverted: whether `images` are inverted already.
    """
    borders = _borders(images)
    dark = (borders > _PAPER) & (borders >= images.mean(axis=(1, 2, 3)))
    if inverted:
        dark_text = f" light on dark already: leave {option} out."
    else:
        dark_text = (
            " dark on light; this network was trained on light digits on black: pass "
            f"{option}."
        )
    grey = (borders > _BLACK) & ~dark
    shades = sorted({round(border) for border in borders[grey]})
    shade = " to ".join(str(x) for x in shades[:1] + shades[1:][-1:])
    background = "paper is white" if inverted else "background is black"
    grey_text = (
        f" a grey background ({shade} of 255 around the digit); this network was "
        f"trained on black: raise the contrast until the {background}."
    )
    sentences = (
        _sentence(names, dark, "is", "are", dark_text),
        _sentence(names, grey, "has", "have", grey_text),
    )
    return " ".join(filter(None, sentences))


def _borders(images: np.ndarray) -> np.ndarray:
    """Returns the median of each image's outermost pixels."""
    inside = np.zeros(images.shape[1:3], bool)
    inside[1:-1, 1:-1] = True
    return np.median(images[:, ~inside], axis=(1, 2))


def _sentence(
    names: Sequence[str], chosen: np.ndarray, one: str, several: str, text: str
) -> str:
    """Returns a sentence about the chosen images, with a verb for one or several."""
    found = [names[i] for i in np.flatnonzero(chosen)]
    if not found:
        return ""
    if len(found) == 1:
        return f"{found[0]} {one}{text}"
    named = ", ".join(found[:_NAMED]) + ", ..." * (len(found) > _NAMED)
    return f"{len(found)} of {len(names)} images ({named}) {several}{text}"
