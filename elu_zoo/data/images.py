"""Image files and encoded images to float32 arrays of a model's input shape."""

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elu_zoo import errors

if TYPE_CHECKING:
    import tensorflow as tf

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
_LUMA = np.array([[0.299], [0.587], [0.114]], "float32")  # ITU-R BT.601, as in JPEG.


def decode_image(encoded: "tf.Tensor", shape: tuple[int, int, int]) -> "tf.Tensor":
    """Decodes one PNG or JPEG image with stock TensorFlow operations.

    Works eagerly, inside `tf.map_fn` and inside an exported SavedModel. An alpha
    channel is dropped; an image of another size is resized to fit, bilinear with
    antialiasing, without keeping its proportions.

    Args:
        encoded: scalar string tensor, the content of a file.
        shape: `(height, width, channels)` of the result; channels 1 or 3.

    Returns:
        float32 tensor of `shape`, values in 0..255.

    Raises:
        UsageError: `shape` has other channels.
        tf.errors.InvalidArgumentError: `encoded` is not an image (when it runs).
    """
    import tensorflow as tf

    height, width, channels = shape
    if channels not in (1, 3):
        raise errors.UsageError(f"Images have 1 or 3 channels, the shape is {shape}.")
    image = tf.io.decode_image(encoded, channels=channels, expand_animations=False)
    image = tf.cast(image, tf.float32)
    image = tf.cond(
        tf.reduce_all(tf.shape(image)[:2] == (height, width)),
        lambda: image,
        lambda: tf.image.resize(image, (height, width), "bilinear", antialias=True),
    )
    return tf.ensure_shape(image, shape)


def read_images(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    shape: tuple[int, int, int],
) -> tuple[np.ndarray, list[Path]]:
    """Reads image files for prediction.

    Args:
        paths: files of any name, or a folder, or several of them; a folder stands for
            its images by suffix (see `SUFFIXES`), sorted by name, not recursively.
        shape: `(height, width, channels)` of the result; see `decode_image`.

    Returns:
        float32 array `(n, height, width, channels)`, values in 0..255, and the n paths.

    Raises:
        NotFoundError: a path does not exist.
        UsageError: no path is given, or `shape` does not have 1 or 3 channels.
        DataError: a folder has no images; a file is empty, not an image or too large.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    resolved = [file for path in paths for file in _files(Path(path).expanduser())]
    if not resolved:
        raise errors.UsageError("No image was given; name a file or a folder.")
    return np.stack([_read_image(path, shape) for path in resolved]), resolved


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise errors.NotFoundError(f"{path} does not exist.")
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.iterdir()
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
    )
    if not found:
        raise errors.DataError(f"{path} holds no image ({' '.join(SUFFIXES)}).")
    return found


def _read_image(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    import tensorflow as tf

    from elu_zoo.data import pixels

    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error
    if not content:
        raise errors.DataError(f"{path} is empty (0 bytes), expected an image.")
    height, width, odd = 0, 0, []
    # Of another format, or with a bad header: the decoder says so.
    with contextlib.suppress(errors.DataError, tf.errors.OpError):
        height, width, odd = pixels.header(content)
    if height * width > pixels.MOST_PIXELS:
        raise errors.DataError(
            f"{path} has {height} x {width} pixels; usable are at most "
            f"{pixels.MOST_PIXELS} in all."
        )
    # TensorFlow decodes BMP, GIF and CMYK to colour only.
    in_colour = content.startswith((b"BM", b"GIF8")) or pixels.CMYK in odd
    only_colour = shape[2] == 1 and in_colour
    try:
        image = decode_image(
            tf.constant(content), (*shape[:2], 3) if only_colour else shape
        ).numpy()
    except tf.errors.OpError as error:
        # The sentence stands between the names of the node and of the operation.
        reason = re.sub(r"\{\{.*?\}\} ?|\[Op:.*", "", error.message, flags=re.DOTALL)
        raise errors.DataError(
            f"{path} cannot be decoded as an image of {shape[2]} channel(s): "
            f"{reason.strip()}"
        ) from error
    return image @ _LUMA if only_colour else image
