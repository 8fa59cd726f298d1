"""Looks at every image of an encoded split once: pixels, oddities, and what is bad."""

import collections
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import pixels
from elu_zoo.data.encoded import EncodedSplit
from elu_zoo.data.examples import Example

_AHEAD = 8  # images a core
_NAMED = 5  # images in a message
_LOGGED = 10_000  # images


@dataclasses.dataclass(frozen=True, eq=False)
class Seen:
    """An image that was looked at.

    Attributes:
        name: of its file.
        label: its class.
        pixels: uint8 `(height, width, channels)`; None if it is bad.
        oddity: see `pixels.checked`; of a bad image the reason.
        made: what `make` made of the pixels.
    """

    name: str
    label: int
    pixels: np.ndarray | None
    oddity: str
    made: Any = None


def read_each(split: EncodedSplit) -> Iterator[Callable[[], Example]]:
    """Yields of each example of a split what reads it."""
    for position in split.positions:
        yield lambda position=position: split.examples.read([position])[0]


def look(
    examples: Iterable[Callable[[], Example]],
    shape: pixels.Shape,
    make: Callable[[np.ndarray], Any] | None = None,
) -> Iterator[Seen]:
    """Yields every image, in order, read and decoded on all cores.

    Args:
        examples: of each what reads it.
        shape: of the pixels, see `pixels.decoded`.
        make: is applied to the pixels, on the same cores.

    Raises:
        DataError: files cannot be read at all.
    """

    def see(read: Callable[[], Example]) -> Seen:
        example = read()
        try:
            found, oddity = pixels.checked(example.image, shape)
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
    """The mean of images, exact whatever their order."""

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
        split: whose mean it is.
        others: splits that are looked at as well.
        classes: how many there are; labels number them from 0.

    Raises:
        DataError: images or labels cannot be used; the message counts and names
            them.
    """
    mean, bad = Mean(), []
    odd: dict[str, list[str]] = {}
    for looked_at in (split, *others):
        in_order = dataclasses.replace(
            looked_at, positions=np.sort(looked_at.positions)
        )
        for seen in look(read_each(in_order), looked_at.image_shape):
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
    """Returns the error of bad images among `count`, which it counts and names."""
    named = _listed([f"{seen.name}: {seen.oddity}" for seen in bad])
    return errors.DataError(
        f"{len(bad)} of {count} images cannot be used: {named}. Mend or delete them."
    )


def _listed(names: list[str]) -> str:
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more
