"""Splits too large for memory: images stay encoded on the disk until needed."""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from elu_zoo import errors
from elu_zoo.data.dataset import Split
from elu_zoo.data.shapes import Shape

_AHEAD = 2  # batches that are decoded before they are asked for


class Example(NamedTuple):
    """An image file and its label.

    Attributes:
        name: the file's name, for people.
        image: the file's content.
        label: the image's class.
    """

    name: str
    image: bytes
    label: int


class UnusableFileError(errors.DataError):
    """An image file that is not a regular one, or is too large to be read.

    Args:
        name: the file's name.
        label: the image's class.
        reason: a sentence's end: "is not a regular file: it is a device".
    """

    def __init__(self, name: str, label: int, reason: str):
        super().__init__(f"{name} cannot be used: it {reason}.")
        self.name, self.label, self.reason = name, label, f"it {reason}"


class Examples(Protocol):
    """Image files that are read by position."""

    def __len__(self) -> int:
        """Returns the number of examples."""

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns the examples at these positions.

        Raises:
            DataError: one of them cannot be read; an `UnusableFileError` where the
                others may be used without it.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedSplit:
    """Examples whose images are decoded when they are needed.

    Args:
        examples: the files, of which the split has some.
        positions: int64 `(n,)`, positions in `examples` of those in the split.
        side: height and width of every decoded image, in pixels.
    """

    examples: Examples
    positions: np.ndarray
    side: int

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def image_shape(self) -> Shape:
        """`(height, width, channels)` of every image."""
        return self.side, self.side, 3

    def first(self, count: int) -> "EncodedSplit":
        """Returns the first `count` examples.

        Raises:
            DataError: there are fewer.
        """
        if count > len(self):
            raise errors.DataError(
                f"{count} examples were asked for; the split has {len(self)}."
            )
        return dataclasses.replace(self, positions=self.positions[:count])

    def parts(self, size: int) -> Iterator[Split]:
        """Yields all examples in order, `size` at once; the last part may be less."""
        return self.batches(np.arange(len(self)), size)

    def batches(self, indices: np.ndarray, size: int) -> Iterator[Split]:
        """Yields batches of examples in a given order, decoded ahead on all cores.

        The batches depend on the arguments only, not on the number of cores: an epoch
        can be resumed at any batch, and on any of several machines.

        Args:
            indices: `(n,)`, indices into the split, in the order to yield.
            size: examples in a batch; the last batch may be smaller.

        Raises:
            DataError: an image cannot be read or decoded; the message names it.
        """
        import tensorflow as tf

        from elu_zoo.data import images as decoder

        chosen = self.positions[indices]
        # `read` takes the positions out of a list: TensorFlow keeps the function, and
        # what it refers to, for ever.
        handed = [chosen]
        failure = []

        def read() -> Iterator[tuple[list[bytes], list[int]]]:
            own = handed.pop()
            for start in range(0, len(own), size):
                try:
                    found = self.examples.read(own[start : start + size])
                except errors.DataError as error:
                    failure.append(error)  # TensorFlow keeps its text only
                    raise
                yield [x.image for x in found], [x.label for x in found]

        def looked_at(images: Any, labels: Any) -> tuple[Any, Any, Any]:
            return images, decoder.are_plain(images), labels

        def decoded(image: Any, is_plain: Any, label: Any) -> tuple[Any, Any]:
            return decoder.decode(image, self.image_shape, is_plain), label

        dataset = tf.data.Dataset.from_generator(
            read,
            output_signature=(
                tf.TensorSpec([None], tf.string),
                tf.TensorSpec([None], tf.int32),
            ),
        )
        dataset = (
            dataset.map(looked_at)
            .unbatch()
            .map(decoded, num_parallel_calls=os.cpu_count() or 1, deterministic=True)
        )
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = dataset.batch(size).prefetch(_AHEAD).with_options(options)
        done = 0
        try:
            for images, labels in dataset:
                done += len(labels)
                yield Split(images, labels.numpy())
        except tf.errors.OpError as error:
            if failure:
                raise failure[0] from error
            raise self._culprit(chosen[done : done + size], error) from error

    def _culprit(self, positions: np.ndarray, error: Exception) -> errors.DataError:
        """Returns the error of the first bad image at these positions."""
        from elu_zoo.data import images

        for position in positions:
            (example,) = self.examples.read([position])
            try:
                images.decode_checked(example.image, self.image_shape)
            except errors.DataError as reason:
                return errors.DataError(f"{example.name} cannot be used: {reason}.")
        return errors.DataError(f"Images cannot be decoded: {error}.")
