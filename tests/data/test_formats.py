"""Errors for files that are neither PNG nor JPEG state the format of the file."""

import io

import pytest
from image_files import noise
from PIL import Image

from elu_zoo.data import formats


def by_pillow(image_format):
    buffer = io.BytesIO()
    Image.fromarray(noise(9, 9)).save(buffer, image_format)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        *((by_pillow(f), f"it is a {f}") for f in ("GIF", "BMP", "TIFF", "WebP")),
        (b"MM\0*" + bytes(20), "it is a TIFF"),
        (b"\0\0\0\x18ftypheic", "it is a HEIC or an AVIF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\4CgBI", "it is a PNG without its header"),
        (b"<html>Not found</html>", "its format is unknown"),
        (b"", "its format is unknown"),
    ],
)
def test_the_error_states_the_format(content, found):
    assert str(formats.unsupported_error(content)) == f"{found}; expected PNG or JPEG"
