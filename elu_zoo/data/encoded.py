"""Splits too large for memory: images stay encoded on the disk, and are read ahead."""

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.data import pixels
from elu_zoo.data.examples import Examples
from elu_zoo.data.sources import Split

_AHEAD = 2  # batches


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedSplit:
    """Examples whose images are decoded when they are needed.

    Args:
        examples: where they are.
        positions: int64 `(n,)`, which of them.
        side: height and width of every image, in pixels, once decoded.
    """

    examples: Examples
    positions: np.ndarray
    side: int

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def image_shape(self) -> tuple[int, int, int]:
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
        """Yields all examples in order, `size` at once, the last ones fewer."""
        return self.batches(np.arange(len(self)), size)

    def batches(self, indices: np.ndarray, size: int) -> Iterator[Split]:
        """Yields examples in an order, decoded ahead on all cores.

        What is yielded depends on the arguments only, not on the number of cores:
        reading goes on anywhere in an epoch, and on any of several machines.

        Args:
            indices: of examples, `(n,)`.
            size: examples in a batch; the last ones may be fewer.

        Raises:
            DataError: an image cannot be read or decoded; the message names it.
        """
        chosen = self.positions[indices]
        handed = [chosen]  # and taken out: TensorFlow keeps `read` for ever
        failure = []

        def read() -> Iterator[tuple[list[bytes], list[int]]]:
            own = handed.pop()
            for start in range(0, len(own), size):
                try:
                    found = self.examples.read(own[start : start + size])
                except errors.DataError as error:
                    failure.append(error)  # TensorFlow would keep its text alone
                    raise
                yield [x.image for x in found], [x.label for x in found]

        def looked_at(images: Any, labels: Any) -> tuple[Any, Any, Any]:
            return images, pixels.are_plain(images), labels

        def decoded(image: Any, is_plain: Any, label: Any) -> tuple[Any, Any]:
            return pixels.decoded(image, self.image_shape, is_plain), label

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
        """Returns the error of the first bad image among these."""
        for position in positions:
            (example,) = self.examples.read([position])
            try:
                pixels.checked(example.image, self.image_shape)
            except errors.DataError as reason:
                return errors.DataError(f"{example.name} cannot be used: {reason}.")
        return errors.DataError(f"Images cannot be decoded: {error}.")
