"""Pictures of images above their reconstructions, as PNG files."""

import os
from pathlib import Path

import numpy as np

from elu_zoo import errors, files

COLUMNS = 10
# Most images in a picture: viewers can open 1000 digits, 1138 x 23,590 pixels.
LIMIT = 1000
GAP = 2  # pixels between an image and its reconstruction, and between columns
BAND_GAP = 10  # pixels between two rows of images
GREY = 128
_SIDE = 112  # in pixels; small images are enlarged up to this side.


def write_pairs(path: str | os.PathLike, images: np.ndarray, reconstructions: np.ndarray) -> int:
    """Writes `pairs` of the first `LIMIT` images as a PNG file, and returns their number."""
    import tensorflow as tf

    picture = pairs(images[:LIMIT], reconstructions[:LIMIT])
    content = tf.io.encode_png(picture).numpy()
    try:
        files.write_bytes(Path(path), content)
    except OSError as error:
        raise errors.ResourceError(f"Cannot write {path}: {error.strerror}.") from error
    return min(len(images), LIMIT)


def pairs(images: np.ndarray, reconstructions: np.ndarray) -> np.ndarray:
    """Returns a uint8 picture with rows of `COLUMNS` images above their reconstructions.

    Args:
        images: `(n, height, width, channels)`, 0..255, n >= 1.
        reconstructions: an array of this shape; values outside 0..255 are clipped.
    """
    tiles = np.stack([images, reconstructions], axis=1)
    tiles = np.clip(np.rint(tiles), 0, 255).astype(np.uint8)
    zoom = max(1, _SIDE // max(images.shape[1:3]))
    tiles = tiles.repeat(zoom, axis=2).repeat(zoom, axis=3)
    count, _, height, width, channels = tiles.shape
    columns = min(count, COLUMNS)
    bands = -(-count // columns)
    band_height = 2 * height + GAP + BAND_GAP
    picture = np.full(
        (bands * band_height - BAND_GAP, columns * (width + GAP) - GAP, channels), GREY, np.uint8
    )
    for index, (image, reconstruction) in enumerate(tiles):
        band, column = divmod(index, columns)
        top, left = band * band_height, column * (width + GAP)
        below = top + height + GAP
        picture[top : top + height, left : left + width] = image
        picture[below : below + height, left : left + width] = reconstruction
    return picture
