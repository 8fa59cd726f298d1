"""Formats of image files, recognised by their first bytes."""

from elu_zoo import errors

JPEG = b"\xff\xd8\xff"
# The signature of PNG and the header of the chunk IHDR. If another chunk comes first,
# height and width cannot be read.
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
MAX_BYTES = 2**29  # limit of a file: four bytes for each of images.MAX_PIXELS pixels
HEAD = 512  # bytes that suffice to recognise a format
# A file with one of these suffixes is treated as an image. If the content is neither
# PNG nor JPEG, the error states the format.
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
    (4, b"ftypavif", "an AVIF"),
    (4, b"ftyphei", "a HEIC"),
    (4, b"ftyphev", "a HEIC"),
    (4, b"ftypmif1", "a HEIC"),
    (4, b"ftypmsf1", "a HEIC"),
    (0, b"%PDF", "a PDF"),
    (0, b"\x89PNG", "a PNG without its header"),
)


def is_webp(content: bytes) -> bool:
    """Returns whether the content of a file is a WebP image."""
    return _other_format(content) == "a WebP"


def is_image(head: bytes) -> bool:
    """Returns whether the first `HEAD` bytes of a file belong to an image or a PDF."""
    return head.startswith((JPEG, PNG)) or _other_format(head) is not None


def unsupported_error(content: bytes, expected: str = "PNG or JPEG") -> errors.DataError:
    """Returns an error that states the format of a file that is not as expected."""
    name = _other_format(content) or ("text" if _is_text(content[:HEAD]) else None)
    if name is None:
        return errors.DataError(f"its format is unknown; expected {expected}")
    return errors.DataError(f"it is {name}; expected {expected}")


def _other_format(content: bytes) -> str | None:
    for start, magic, name in _OTHERS:
        if content.startswith(magic, start):
            # Text may start with BM too. In a bitmap, bytes 6 to 9 are zero.
            if name != "a BMP" or content[6:10] == bytes(4):
                return name
    return None


def _is_text(head: bytes) -> bool:
    # `head` may end with up to three bytes of an incomplete character.
    text = head.decode("utf-8", "ignore")
    is_utf8 = len(text.encode()) > len(head) - 4
    lines = text.replace("\t", "").splitlines()
    return bool(lines) and is_utf8 and all(line.isprintable() for line in lines)
