"""Encoded images, which are decoded when needed, in batches or all at once."""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data.dataset import Split
from elu_zoo.data.shapes import Shape

_PREFETCHED = 2  # batches
_AHEAD = 16  # images that are decoded at once, per core
_NAMED = 5  # the largest number of images that a message names
_SECONDS = 30  # between two log messages


class Example(NamedTuple):
    """An image file: its name, its content and the class of the image."""

    name: str
    image: bytes
    label: int


class Examples(Protocol):
    """Encoded images that are read by position."""

    def __len__(self) -> int: ...

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns the examples at these positions."""


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedImages:
    """The encoded images of a folder, in splits."""

    name: str
    fingerprint: str
    class_names: tuple[str, ...]  # display names, which several labels may share
    splits: dict[str, Any]  # `Examples`


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedSplit:
    """Examples whose images are decoded when needed."""

    examples: Examples  # may include images of other splits
    positions: np.ndarray  # of the split's images in `examples`
    side: int  # height and width of every decoded image
    new_labels: np.ndarray | None = None  # the label instead of each label
    is_encoded = True

    def __len__(self) -> int:
        return len(self.positions)

    def relabelled(self, labels: np.ndarray) -> "EncodedSplit":
        """Returns the images with the label `labels[i]` instead of each label i."""
        return dataclasses.replace(self, new_labels=labels)

    @property
    def image_shape(self) -> Shape:
        """`(height, width, channels)` of every image."""
        return self.side, self.side, 3

    def first(self, count: int) -> "EncodedSplit":
        """Returns the first `count` examples, or all if there are fewer."""
        return dataclasses.replace(self, positions=self.positions[:count])

    def parts(self, size: int) -> Iterator[Split]:
        """Yields all examples in order; the last part may be smaller than `size`."""
        return self.batches(np.arange(len(self)), size)

    def batches(self, indices: np.ndarray, size: int) -> Iterator[Split]:
        """Yields batches in the order of `indices`, decoded ahead on all cores.

        They depend on the arguments only, and not on the number of cores, so that an
        epoch can be resumed and divided among machines.
        """
        import tensorflow as tf

        from elu_zoo.data import images

        positions = self.positions[indices]
        passed = [positions]  # for `read`, which TensorFlow never frees, to take out

        def read() -> Iterator[tuple[list[bytes], list[int]]]:
            remaining = passed.pop()
            for start in range(0, len(remaining), size):
                examples = self.examples.read(remaining[start : start + size])
                yield [x.image for x in examples], [x.label for x in examples]

        def decode(image: Any, label: Any) -> tuple[Any, Any]:
            return images.decode(image, self.image_shape), label

        signature = tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32)
        dataset = tf.data.Dataset.from_generator(read, output_signature=signature).unbatch()
        dataset = dataset.map(decode, num_parallel_calls=os.cpu_count() or 1, deterministic=True)
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = dataset.batch(size).prefetch(_PREFETCHED).with_options(options)
        done = 0
        try:
            for pixels, labels in dataset:
                done += len(labels)
                part = Split(pixels, labels.numpy())
                new = self.new_labels
                yield part if new is None else part.relabelled(new)
        except tf.errors.OpError as error:
            failed = positions[done : done + size]
            decoded = decode_all(self.examples, failed, self.image_shape)
            problems = [image.problem for image in decoded if image.problem]
            problems = problems or [errors.graph_reason(error.message)]
            raise unusable_error(problems, len(failed)) from error


class DecodedImage(NamedTuple):
    """A file's name, label and pixels, or the problem: name and why it cannot be used."""

    name: str = ""
    label: int = 0
    pixels: np.ndarray | None = None
    problem: str = ""


def decode_all(
    examples: Examples, positions: Sequence[int] | np.ndarray, shape: Shape
) -> Iterator[DecodedImage]:
    """Yields the images at these positions, in order."""
    from elu_zoo.data import images

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
            counts = min(start + size, len(positions)), len(positions)
            logging.log_every_n_seconds(logging.INFO, "Decoded %d of %d images.", _SECONDS, *counts)


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
