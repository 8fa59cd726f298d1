"""A picture of images above their reconstructions, as a PNG file."""

import os
from pathlib import Path

import numpy as np

from elu_zoo import errors, files

COLUMNS = 10
# A thousand digits are a picture of 1,138 x 23,590 pixels, which viewers still open.
LIMIT = 1000
GAP = 2
BAND_GAP = 10
GREY = 128
_SIDE = 112


def write_pairs(
    path: str | os.PathLike, images: np.ndarray, reconstructions: np.ndarray
) -> int:
    """Writes `pairs` of the first `LIMIT` images as a PNG file, atomically.

    Args:
        path: the file; it is replaced if it exists.
        images: as of `pairs`.
        reconstructions: as of `pairs`.

    Returns:
        How many images the picture shows.

    Raises:
        ResourceError: the file cannot be written.
    """
    import tensorflow as tf

    picture = pairs(images[:LIMIT], reconstructions[:LIMIT])
    content = tf.io.encode_png(picture).numpy()
    try:
        files.write_bytes(Path(path), content)
    except OSError as error:
        raise errors.ResourceError(f"Cannot write {path}: {error.strerror}.") from error
    return min(len(images), LIMIT)


def pairs(images: np.ndarray, reconstructions: np.ndarray) -> np.ndarray:
    """Returns images in rows of `COLUMNS`, each above its reconstruction.

    Small images are enlarged, each pixel to a square. Between the images lie grey
    lines, `GAP` pixels wide, and `BAND_GAP` between a row of pairs and the next.

    Args:
        images: `(n, height, width, channels)`, 0..255, of at least one image.
        reconstructions: of the same shape; values outside of 0..255 are clipped.

    Returns:
        uint8 array `(height, width, channels)`.
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
        (bands * band_height - BAND_GAP, columns * (width + GAP) - GAP, channels),
        GREY,
        np.uint8,
    )
    for index, (image, reconstruction) in enumerate(tiles):
        band, column = divmod(index, columns)
        top, left = band * band_height, column * (width + GAP)
        below = top + height + GAP
        picture[top : top + height, left : left + width] = image
        picture[below : below + height, left : left + width] = reconstruction
    return picture
