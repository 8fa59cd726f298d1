"""Images that a network would take for something else, and what to do about it."""

from collections.abc import Sequence

import numpy as np

DIGITS = ("mnist", "mnist_5k")  # data sets of light digits on black
_SHAPE = (28, 28, 1)  # theirs
_BRIGHT = 64  # a border that is brighter is not black
_NAMED = 3  # images in a message


def takes_light_on_black(shape: Sequence[int], dataset: str | None) -> bool:
    """Whether a network was trained on light digits on black.

    Args:
        shape: `(height, width, channels)` of its images.
        dataset: the name of the data set that it was trained on; where it is not
            known, None, the shape decides.
    """
    return tuple(shape) == _SHAPE if dataset is None else dataset in DIGITS


def are_dark_on_light(images: np.ndarray) -> np.ndarray:
    """Whether each image is dark on a light ground, such as ink on paper.

    Its border is then not black, and not darker than the image as a whole.

    Args:
        images: `(batch, height, width, channels)`, 0..255.

    Returns:
        bool array `(batch,)`.
    """
    inside = np.zeros(images.shape[1:3], bool)
    inside[1:-1, 1:-1] = True
    border = np.median(images[:, ~inside], axis=(1, 2))
    return (border > _BRIGHT) & (border >= images.mean(axis=(1, 2, 3)))


def are_fractions(images: np.ndarray) -> np.ndarray:
    """Whether each image's values never exceed 1, as those of pixels in [0, 1].

    A black image, all 0, means the same on either scale, and is none.

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
        names: of each image.
    """
    said = " like pixels in [0, 1]; expected 0..255."
    return _sentence(names, are_fractions(images), "looks", "look", said)


def ground_complaint(images: np.ndarray, names: Sequence[str], remedy: str) -> str:
    """Returns a sentence that names the images of `are_dark_on_light`; "" without any.

    Args:
        images: `(batch, height, width, channels)`, 0..255, for a network that
            `takes_light_on_black`.
        names: of each image.
        remedy: what to do.
    """
    said = (
        f" dark on light; this network was trained on light digits on black: {remedy}."
    )
    return _sentence(names, are_dark_on_light(images), "is", "are", said)


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
