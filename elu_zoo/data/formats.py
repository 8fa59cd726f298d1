"""Formats of image files, recognised by their first bytes."""

from elu_zoo import errors

JPEG = b"\xff\xd8\xff"
# The signature of PNG and the header of the chunk IHDR. If another chunk comes first,
# height and width cannot be read.
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
MAX_BYTES = 2**29  # limit of a file: four bytes for each of images.MAX_PIXELS pixels
# A file with one of these suffixes is treated as an image, perhaps of another format.
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif"),
    *(".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".heif", ".avif"),
)
# Offset of the bytes that identify a format, the bytes, and the format's name.
_OTHERS = (
    (0, b"GIF8", "a GIF"),
    (0, b"BM", "a BMP"),
    (8, b"WEBP", "a WebP"),
    (0, b"II*\0", "a TIFF"),
    (0, b"MM\0*", "a TIFF"),
    (4, b"ftyp", "a HEIC or an AVIF"),
    (0, b"\x89PNG", "a PNG without its header"),
)


def unsupported_error(content: bytes, expected: str = "PNG or JPEG") -> errors.DataError:
    """Returns an error that states the format of a file that is not as expected."""
    found = f"it is {name}" if (name := _other_format(content)) else "its format is unknown"
    return errors.DataError(f"{found}; expected {expected}")


def _other_format(content: bytes) -> str | None:
    names = (name for start, magic, name in _OTHERS if content.startswith(magic, start))
    return next(names, None)
