"""Reading of the EXIF orientation of JPEG files, compared with Pillow."""

import io
import struct

import numpy as np
import pytest
import tensorflow as tf
from image_files import jpeg, noise, with_exif
from PIL import Image, ImageOps

from elu_zoo.data import images, orientation

IMAGE = noise(8, 16)
PLAIN = jpeg(IMAGE)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("value", range(1, 9))
def test_images_are_rotated_as_by_pillow(value, order):
    encoded = with_exif(PLAIN, value, order)
    with Image.open(io.BytesIO(encoded)) as image:
        assert image.getexif()[0x0112] == value
        expected = np.asarray(ImageOps.exif_transpose(image))
    pixels = images.decode(tf.constant(encoded), (None, None, 3))
    np.testing.assert_array_equal(pixels, expected)


ROTATED = with_exif(PLAIN, 6)  # an image of orientation 6
EXIF = ROTATED.index(b"Exif")  # byte offset of the EXIF identifier
TIFF = EXIF + 6  # byte offset of the TIFF header


def overwrite(offset, content):
    """Returns ROTATED with `content` in place of the bytes at `offset`."""
    return ROTATED[:offset] + content + ROTATED[offset + len(content) :]


def segment(marker, content):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content


def insert_before_exif(segments):
    """Returns ROTATED with `segments` before the EXIF segment."""
    return ROTATED[:2] + segments + ROTATED[2:]


@pytest.mark.parametrize(
    ("encoded", "expected"),
    {
        "none": (PLAIN, 1),
        "other_tags_first": (with_exif(PLAIN, 6, others=20), 6),
        "other_tags_alone": (with_exif(PLAIN, None, others=20), 1),
        "after_other_segments": (insert_before_exif(segment(0xED, bytes(60_000))), 6),
        "value_0": (with_exif(PLAIN, 0), 1),
        "value_9": (with_exif(PLAIN, 9), 1),
        "another_segment": (overwrite(EXIF - 3, b"\xe2"), 1),
        "another_byte_order": (overwrite(TIFF, b"XX"), 1),
        "another_number": (overwrite(TIFF + 2, b"\1"), 1),
        "directory_far_away": (overwrite(TIFF + 4, b"\xff\xff\xff\xff"), 1),
        "directory_at_the_end": (overwrite(TIFF + 4, struct.pack("<I", 65_535 - 2)), 1),
        "many_entries": (overwrite(TIFF + 8, b"\xff\xff"), 6),
        "no_entries": (overwrite(TIFF + 8, b"\0\0"), 1),
        "another_type": (overwrite(TIFF + 12, b"\4"), 1),
        "cut_after_the_name": (ROTATED[: EXIF + 6], 1),
        "cut_in_the_tiff_header": (ROTATED[: TIFF + 6], 1),
        "cut_in_the_directory": (ROTATED[: TIFF + 15], 1),
        "empty": (b"", 1),
    }.values(),
)
def test_images_stay_as_they_are_unless_the_orientation_is_valid(encoded, expected):
    rotated = np.rot90(IMAGE, -1) if expected == 6 else IMAGE
    result = orientation.upright(tf.constant(IMAGE), tf.constant(encoded))
    np.testing.assert_array_equal(result, rotated)
