"""Warnings about images whose scale or background differs from training."""

from collections.abc import Sequence

import numpy as np

from elu_zoo import errors

DIGITS = ("mnist", "mnist_5k")  # data sets of light digits on black
SHAPE = (28, 28, 1)  # shape of the images of the data sets in DIGITS
BLACK = 40  # of 255; a brighter background is not black


def takes_light_on_black(shape: Sequence[int], dataset: str | None) -> bool:
    """Returns whether a model, of a data set or only of a shape, takes light digits on black."""
    return tuple(shape) == SHAPE if dataset is None else dataset in DIGITS


def scale_complaint(images: np.ndarray, names: Sequence[str]) -> str:
    """Returns a sentence that lists the images with pixels in [0, 1], or "".

    A black image is the same on the scales [0, 1] and 0..255, and is not listed.
    """
    highest = images.max(axis=(1, 2, 3), initial=0)
    listed = _listed(names, (highest > 0) & (highest <= 1))
    return listed and f"{listed}: pixels in [0, 1]; expected 0..255."


def ground_complaint(images: np.ndarray, names: Sequence[str], remedy: str) -> str:
    """Returns a sentence that lists the images without a black background, or "".

    `remedy` is the option `digit` as the user writes it.
    """
    inside = np.zeros(images.shape[1:3], bool)
    inside[1:-1, 1:-1] = True
    borders = np.median(images[:, ~inside], axis=(1, 2))
    listed = _listed(names, borders > BLACK)
    return listed and (
        f"{listed}: a background that is not black; MNIST has light digits on black: for digits "
        f"on paper, pass {remedy}."
    )


def _listed(names: Sequence[str], chosen: np.ndarray) -> str:
    """Returns the names of the chosen images, or their number and the first names."""
    listed = [names[i] for i in np.flatnonzero(chosen)]
    named = errors.listed(listed)
    return f"{len(listed)} of {len(names)} images ({named})" if listed[1:] else named
