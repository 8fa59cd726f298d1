"""Functions that encode PNG files without an image library."""

import struct
import zlib

import numpy as np

_COLOUR_TYPES = {1: 0, 3: 2}


def png(image: np.ndarray) -> bytes:
    """Returns an image (height, width, 1 or 3) of values 0..255 as a PNG file."""
    height, width, channels = image.shape
    rows = image.astype("uint8").reshape(height, width * channels)
    scanlines = np.concatenate([np.zeros((height, 1), "uint8"), rows], axis=1)
    return _file(width, height, 8, _COLOUR_TYPES[channels], scanlines.tobytes())


def blank(side: int) -> bytes:
    """Returns a small file with many pixels: a black square with one bit per pixel."""
    row = bytes(1 + (side + 7) // 8)
    return _file(side, side, 1, 0, row * side)


def _file(width, height, depth, colour_type, scanlines):
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(scanlines, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind, content):
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
