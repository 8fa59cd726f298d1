"""Files whose headers state too many pixels are refused before decoding."""

import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.data.images import MAX_PIXELS
from elu_zoo.export import signatures

SIDE = int(MAX_PIXELS**0.5)  # 11585 x 11585 is just below the limit
MAGIC = b"\x89PNG\r\n\x1a\n"


def chunk(kind, content):
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def png(height, width, first=b""):
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(100)))
    return MAGIC + first + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


def jpeg(height, width):
    """A file of 8 x 8 pixels whose header states another size."""
    content = tf.io.encode_jpeg(np.zeros((8, 8, 3), np.uint8)).numpy()
    start = content.index(b"\xff\xc0") + 5
    return content[:start] + struct.pack(">HH", height, width) + content[start + 4 :]


@pytest.fixture(scope="module")
def check_sizes():
    spec = tf.TensorSpec((None,), tf.string)
    return tf.function(signatures.check_sizes, input_signature=[spec])


TOO_MANY = f"more than {MAX_PIXELS} pixels"
NEITHER = "The file is neither PNG nor JPEG"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([png(SIDE, SIDE)], None),
        ([jpeg(8000, 6000), png(1, 1)], None),  # A photograph of 48 megapixels.
        ([png(SIDE + 1, SIDE + 1)], TOO_MANY),
        ([jpeg(SIDE + 1, SIDE + 1)], TOO_MANY),
        ([png(1, 2**27 + 1)], TOO_MANY),
        ([png(2**32 - 1, 2**32 - 1)], TOO_MANY),
        ([png(8, 8), png(30_000, 30_000)], TOO_MANY),
        ([jpeg(8000, 6000)] * 3, TOO_MANY),
        # The chunk before the header looks like a header of 8 x 8 pixels.
        ([png(30_000, 30_000, chunk(b"abCd", struct.pack(">II", 8, 8)))], NEITHER),
        ([MAGIC], NEITHER),
        ([b"GIF89a" + bytes(20)], NEITHER),
        ([b""], NEITHER),
        ([b"\xff\xd8\xff\xe0" + bytes(100)], "JPEG"),
    ],
)
def test_headers_with_too_many_pixels_are_refused(check_sizes, files, words):
    if words is None:
        assert check_sizes(tf.constant(files)).numpy().tolist() == files
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        check_sizes(tf.constant(files))
