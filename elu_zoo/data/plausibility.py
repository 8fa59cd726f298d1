"""Warnings about images whose scale or background a network was not trained on."""

from collections.abc import Sequence

import numpy as np

DIGITS = ("mnist", "mnist_5k")  # data sets of light digits on black
_SHAPE = (28, 28, 1)  # of the images of DIGITS
_BRIGHT = 64  # a brighter border may be paper
_GREY = 40  # a brighter border is not black; MNIST's borders are 0
_NAMED = 3  # images in a message


def takes_light_on_black(shape: Sequence[int], dataset: str | None) -> bool:
    """Whether a network was trained on light digits on black.

    Args:
        shape: `(height, width, channels)` of its images.
        dataset: the name of the data set that it was trained on; None, where it is not
            known, lets the shape decide.
    """
    return tuple(shape) == _SHAPE if dataset is None else dataset in DIGITS


def are_dark_on_light(images: np.ndarray) -> np.ndarray:
    """Whether each image is dark on a light ground, such as ink on paper.

    The border of such an image is not black, and not darker than the whole image.

    Args:
        images: `(batch, height, width, channels)`, 0..255.

    Returns:
        bool array `(batch,)`.
    """
    border = _borders(images)
    return (border > _BRIGHT) & (border >= images.mean(axis=(1, 2, 3)))


def _borders(images: np.ndarray) -> np.ndarray:
    """Returns the median of each image's outermost pixels."""
    inside = np.zeros(images.shape[1:3], bool)
    inside[1:-1, 1:-1] = True
    return np.median(images[:, ~inside], axis=(1, 2))


def are_fractions(images: np.ndarray) -> np.ndarray:
    """Whether the values of each image never exceed 1, as of pixels in [0, 1].

    A black image, all 0, is the same on either scale, and gives False.

    Args:
        images: `(batch, height, width, channels)`.

    Returns:
        bool array `(batch,)`.
    """
    highest = images.max(axis=(1, 2, 3), initial=0)
    return (highest > 0) & (highest <= 1)


def scale_complaint(images: np.ndarray, names: Sequence[str]) -> str:
    """Returns a sentence that names the images of `are_fractions`; "" without any.

    Args:
        images: `(batch, height, width, channels)`.
        names: the name of each image.
    """
    said = " like pixels in [0, 1]; expected 0..255."
    return _sentence(names, are_fractions(images), "looks", "look", said)


def ground_complaint(
    images: np.ndarray, names: Sequence[str], option: str, inverted: bool
) -> str:
    """Returns sentences that name the images whose ground is not black; "" without any.

    These are the images of `are_dark_on_light`, and others with a grey border.

    Args:
        images: `(batch, height, width, channels)`, 0..255, as they are fed to a
            network that `takes_light_on_black`.
        names: the name of each image.
        option: the option that inverts images, as the user writes it.
        inverted: whether `images` are inverted already.
    """
    dark, borders = are_dark_on_light(images), _borders(images)
    if inverted:
        said = f" light on dark already: leave {option} out."
    else:
        said = (
            " dark on light; this network was trained on light digits on black: pass "
            f"{option}."
        )
    grey = (borders > _GREY) & ~dark
    shades = sorted({round(border) for border in borders[grey]})
    shade = " to ".join(str(x) for x in shades[:1] + shades[1:][-1:])
    ground = "paper is white" if inverted else "background is black"
    said_of_grey = (
        f" a grey background ({shade} of 255 around the digit); this network was "
        f"trained on black: raise the contrast until the {ground}."
    )
    found = (
        _sentence(names, dark, "is", "are", said),
        _sentence(names, grey, "has", "have", said_of_grey),
    )
    return " ".join(filter(None, found))


def _sentence(
    names: Sequence[str], chosen: np.ndarray, one: str, several: str, said: str
) -> str:
    found = [names[i] for i in np.flatnonzero(chosen)]
    if not found:
        return ""
    if len(found) == 1:
        return f"{found[0]} {one}{said}"
    named = ", ".join(found[:_NAMED]) + ", ..." * (len(found) > _NAMED)
    return f"{len(found)} of {len(names)} images ({named}) {several}{said}"
