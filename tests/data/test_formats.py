"""Errors for files that are neither PNG nor JPEG state the format of the file."""

import io

import numpy as np
import pytest
from image_files import jpeg, noise, png
from PIL import Image

from elu_zoo.data import formats

IMAGE = noise(9, 9)


def by_pillow(image_format):
    buffer = io.BytesIO()
    Image.fromarray(IMAGE).save(buffer, image_format)
    return buffer.getvalue()


def first_box(brand):  # of a HEIC or AVIF file
    return b"\0\0\0\x18ftyp" + brand + bytes(12)


@pytest.mark.parametrize(
    ("content", "name", "is_image"),
    [
        *((by_pillow(f), f"a {f}", True) for f in ("GIF", "BMP", "TIFF", "PDF")),
        (by_pillow("WebP"), "a WebP", True),
        (b"MM\0*" + bytes(20), "a TIFF", True),
        (first_box(b"heic"), "a HEIC", True),
        (first_box(b"mif1"), "a HEIC", True),
        (first_box(b"avif"), "an AVIF", True),
        (b"\x89PNG\r\n\x1a\n\0\0\0\4CgBI", "a PNG without its header", True),
        (b"<html>\n\tNot found</html>\r\n", "text", False),
        ("Größe".encode() * 200, "text", False),
        (b"BMW and other words", "text", False),
        (bytes(100), None, False),
        (b"text\0with a zero", None, False),
        (b"\x80\x81\x82", None, False),
        (b"", None, False),
    ],
)
def test_the_error_states_the_format(content, name, is_image):
    found = f"it is {name}" if name else "its format is unknown"
    assert str(formats.unsupported_error(content)) == f"{found}; expected PNG or JPEG"
    assert formats.is_image(content) == is_image


def test_png_and_jpeg_are_images():
    assert formats.is_image(png(IMAGE)) and formats.is_image(jpeg(np.asarray(IMAGE)))
