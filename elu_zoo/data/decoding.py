"""Decoding of all images of a data set on all cores, and the mean image."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import images
from elu_zoo.data.encoded import EncodedSplit, Examples
from elu_zoo.data.shapes import Shape

_AHEAD = 16  # images that are decoded at once, per core
_NAMED = 5  # the largest number of images that a message names
_SECONDS = 30  # between two log messages


class DecodedImage(NamedTuple):
    """A file's name, label and pixels, or the problem: name and why it cannot be used."""

    name: str = ""
    label: int = 0
    pixels: np.ndarray | None = None
    problem: str = ""


def decode_all(
    examples: Examples, positions: Sequence[int], shape: Shape
) -> Iterator[DecodedImage]:
    """Yields the images at these positions, in order."""

    def decode(position: int) -> DecodedImage:
        try:
            (example,) = examples.read([position])
        except errors.DataError as error:
            return DecodedImage(problem=str(error).rstrip("."))
        try:
            pixels = images.decode_checked(example.image, shape)
        except errors.DataError as error:
            return DecodedImage(problem=f"{example.name}: {error}")
        return DecodedImage(example.name, example.label, pixels)

    size = _AHEAD * (os.cpu_count() or 1)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(positions), size):
            yield from pool.map(decode, positions[start : start + size])
            count = min(start + size, len(positions))
            logging.log_every_n_seconds(logging.INFO, "Decoded %d images.", _SECONDS, count)


def mean_image(split: EncodedSplit, *others: EncodedSplit, classes: int) -> np.ndarray:
    """Returns the exact mean of a split's images; those of `others` are checked only."""
    total, count, bad = np.zeros(split.image_shape, np.uint64), 0, []
    for part in (split, *others):
        for image in decode_all(part.examples, np.sort(part.positions), part.image_shape):
            if image.problem:
                bad.append(image.problem)
            elif not 0 <= image.label < classes:
                bad.append(f"{image.name}: its label is {image.label}, not one of 0..{classes - 1}")
            elif part is split:
                total, count = total + image.pixels, count + 1
    if bad:
        raise unusable_error(bad, sum(map(len, (split, *others))))
    return total / count


def unusable_error(problems: Sequence[str], count: int) -> errors.DataError:
    """Returns an error that counts and names the unusable images of `count` images."""
    named = "; ".join(problems[:_NAMED])
    named += f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    return errors.DataError(
        f"{len(problems)} of {count} images cannot be used: {named}. Fix or delete them."
    )
