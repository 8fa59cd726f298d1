"""One pass over encoded images: pixels, unusual properties, and unusable files."""

import collections
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import images
from elu_zoo.data.encoded import EncodedSplit, Example, Examples, UnusableFileError
from elu_zoo.data.shapes import Shape

_AHEAD = 8  # images that are decoded before they are asked for, by core
_NAMED = 5  # images in a message
_LOGGED = 10_000  # images between two lines of the log


@dataclasses.dataclass(frozen=True, eq=False)
class Seen:
    """An image that was decoded, or could not be.

    Attributes:
        name: the name of its file.
        label: its class.
        pixels: uint8 `(height, width, channels)`; None if the image is unusable.
        oddity: its unusual properties, see `images.decode_checked`; of an unusable
            image the reason.
        made: the result of `make` for these pixels, see `look`.
    """

    name: str
    label: int
    pixels: np.ndarray | None
    oddity: str
    made: Any = None


def read_each(
    examples: Examples, positions: Iterable[int]
) -> Iterator[Callable[[], Example]]:
    """Yields, for each of these positions, a function that reads its example."""
    for position in positions:
        yield lambda position=position: examples.read([position])[0]


def look(
    examples: Iterable[Callable[[], Example]],
    shape: Shape,
    make: Callable[[np.ndarray], Any] | None = None,
) -> Iterator[Seen]:
    """Yields every image, in order, read and decoded on all cores.

    Args:
        examples: for each example a function that reads it.
        shape: `(height, width, channels)` of the pixels, see `images.decode`.
        make: function of the pixels, called on the same cores.

    Raises:
        DataError: files cannot be read at all.
    """

    def see(read: Callable[[], Example]) -> Seen:
        try:
            example = read()
        except UnusableFileError as error:
            return Seen(error.name, error.label, None, error.reason)
        try:
            found, oddity = images.decode_checked(example.image, shape)
        except errors.DataError as error:
            return Seen(example.name, example.label, None, str(error))
        made = make(found) if make else None
        return Seen(example.name, example.label, found, oddity, made)

    workers = os.cpu_count() or 1
    waiting: collections.deque[Future[Seen]] = collections.deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for count, read in enumerate(examples, 1):
                waiting.append(pool.submit(see, read))
                if count % _LOGGED == 0:
                    logging.info("Looked at %d images.", count)
                if len(waiting) > _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


class Mean:
    """The mean of images; exact, so that their order does not matter."""

    def __init__(self):
        self._sum, self._count = np.zeros((), np.uint64), 0

    def add(self, image: np.ndarray) -> None:
        """Adds one image, uint8 `(height, width, channels)`."""
        self._sum = self._sum + image
        self._count += 1

    def value(self) -> np.ndarray:
        """Returns the mean, float64.

        Raises:
            DataError: there are no images.
        """
        if not self._count:
            raise errors.DataError("There are no images to train on.")
        return self._sum / self._count


def mean_image(split: EncodedSplit, *others: EncodedSplit, classes: int) -> np.ndarray:
    """Returns the mean of a split's images, float64 `(side, side, 3)`.

    Unusual images are counted and named in the log.

    Args:
        split: the split.
        others: splits that are checked, and do not count in the mean.
        classes: number of classes; labels are below it.

    Raises:
        DataError: images or labels cannot be used; the message counts and names
            them.
    """
    mean, bad = Mean(), []
    odd: dict[str, list[str]] = {}
    for looked_at in (split, *others):
        each = read_each(looked_at.examples, np.sort(looked_at.positions))
        for seen in look(each, looked_at.image_shape):
            if not 0 <= seen.label < classes:
                reason = f"its label is {seen.label}, not one of 0..{classes - 1}"
                seen = dataclasses.replace(seen, pixels=None, oddity=reason)
            if seen.pixels is None:
                bad.append(seen)
            elif looked_at is split:
                mean.add(seen.pixels)
            if seen.pixels is not None and seen.oddity:
                odd.setdefault(seen.oddity, []).append(seen.name)
    if bad:
        raise errors.DataError(
            f"{refusal(bad, sum(map(len, (split, *others))))} "
            "tools/prepare_data.py --max_bad_examples leaves them out."
        )
    for oddity, names in odd.items():
        logging.info("%d images are %s: %s", len(names), oddity, _listed(names))
    return mean.value()


def refusal(bad: list[Seen], count: int) -> errors.DataError:
    """Returns an error that counts and names the unusable ones of `count` images."""
    named = _listed([f"{seen.name}: {seen.oddity}" for seen in bad])
    return errors.DataError(
        f"{len(bad)} of {count} images cannot be used: {named}. Mend or delete them."
    )


def _listed(names: list[str]) -> str:
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more
