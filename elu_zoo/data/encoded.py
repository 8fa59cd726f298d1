"""Splits that are too large for memory, whose images are decoded when needed."""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from elu_zoo import errors
from elu_zoo.data.dataset import Split, check_count
from elu_zoo.data.shapes import Shape

_PREFETCHED = 2  # batches


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
    classes: tuple[str, ...]
    class_names: tuple[str, ...]  # display names, which several labels may share
    splits: dict[str, Examples]


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
        """Returns the first `count` examples."""
        check_count(count, len(self))
        return dataclasses.replace(self, positions=self.positions[:count])

    def parts(self, size: int) -> Iterator[Split]:
        """Yields all examples in order; the last part may be smaller than `size`."""
        return self.batches(np.arange(len(self)), size)

    def batches(self, indices: np.ndarray, size: int) -> Iterator[Split]:
        """Yields batches of examples in the order of `indices`, decoded on all cores.

        Batches are decoded ahead. They depend on the arguments only, and not on the
        number of cores, so that an epoch can be resumed and divided among machines.
        """
        import tensorflow as tf

        from elu_zoo.data import images

        positions = self.positions[indices]
        # TensorFlow never frees `read` or the objects to which `read` refers. To free
        # the positions, `read` removes them from this list.
        passed = [positions]
        failures = []

        def read() -> Iterator[tuple[list[bytes], list[int]]]:
            remaining = passed.pop()
            for start in range(0, len(remaining), size):
                try:
                    examples = self.examples.read(remaining[start : start + size])
                except errors.DataError as error:
                    failures.append(error)  # TensorFlow keeps only the error's text.
                    raise
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
            if failures:
                raise failures[0] from error
            raise self._decoding_error(positions[done : done + size], error) from error

    def _decoding_error(self, positions: np.ndarray, error: Exception) -> errors.DataError:
        """Returns an error that names the first bad image at these positions."""
        from elu_zoo.data import images

        for position in positions:
            (example,) = self.examples.read([position])
            try:
                images.decode_checked(example.image, self.image_shape)
            except errors.DataError as reason:
                return errors.DataError(f"{example.name} cannot be used: {reason}.")
        return errors.DataError(f"Images cannot be decoded: {error}.")
