"""Decoding of all images of a data set on all cores, and the mean image."""

import collections
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import images
from elu_zoo.data.encoded import EncodedSplit, Example, Examples, UnusableFileError
from elu_zoo.data.shapes import Shape

_AHEAD = 8  # images that are decoded ahead, per core
_NAMED = 5  # the largest number of images that a message names
_LOGGED = 10_000  # images between two log messages


@dataclasses.dataclass(frozen=True, eq=False)
class DecodedImage:
    """A decoded image, or the reason why it cannot be used.

    Attributes:
        name: name of the file.
        label: class of the image.
        pixels: uint8 `(height, width, channels)`; None for an unusable image.
        problem: the reason why the image cannot be used; "" for a usable image.
    """

    name: str
    label: int
    pixels: np.ndarray | None = None
    problem: str = ""


def readers(examples: Examples, positions: Iterable[int]) -> Iterator[Callable[[], Example]]:
    """Yields one function per position, which reads the example at the position."""
    for position in positions:
        yield lambda position=position: examples.read([position])[0]


def decode_all(readers: Iterable[Callable[[], Example]], shape: Shape) -> Iterator[DecodedImage]:
    """Yields all images in order, after reading and decoding on all cores.

    Args:
        readers: one function per example, which reads the example.
        shape: `(height, width, channels)` of the pixels, see `images.decode`.
    """

    def decode(read: Callable[[], Example]) -> DecodedImage:
        try:
            example = read()
        except UnusableFileError as error:
            return DecodedImage(error.name, error.label, problem=error.reason)
        try:
            pixels = images.decode_checked(example.image, shape)
        except errors.DataError as error:
            return DecodedImage(example.name, example.label, problem=str(error))
        return DecodedImage(example.name, example.label, pixels)

    workers = os.cpu_count() or 1
    pending: collections.deque[Future[DecodedImage]] = collections.deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for count, read in enumerate(readers, 1):
                pending.append(pool.submit(decode, read))
                if count % _LOGGED == 0:
                    logging.info("Decoded %d images.", count)
                if len(pending) > _AHEAD * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def mean_image(split: EncodedSplit, *others: EncodedSplit, classes: int) -> np.ndarray:
    """Returns the exact mean of a split's images, float64 `(side, side, 3)`.

    Args:
        split: the split.
        *others: splits whose images are checked but do not count in the mean.
        classes: number of classes. Labels must be in [0, classes).
    """
    total, count, bad = np.zeros(split.image_shape, np.uint64), 0, []
    for part in (split, *others):
        in_order = readers(part.examples, np.sort(part.positions))
        for image in decode_all(in_order, part.image_shape):
            if not 0 <= image.label < classes:
                problem = f"its label is {image.label}, not one of 0..{classes - 1}"
                image = dataclasses.replace(image, problem=problem)
            if image.problem:
                bad.append(image)
            elif part is split:
                total, count = total + image.pixels, count + 1
    if bad:
        raise unusable_error(bad, sum(map(len, (split, *others))))
    return total / count


def unusable_error(bad: Sequence[DecodedImage], count: int) -> errors.DataError:
    """Returns an error that counts and names the unusable images of `count` images."""
    named = "; ".join(f"{image.name}: {image.problem}" for image in bad[:_NAMED])
    named += f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return errors.DataError(
        f"{len(bad)} of {count} images cannot be used: {named}. Fix or delete them."
    )
