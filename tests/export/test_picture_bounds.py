"""Files whose headers state too many pixels are refused before decoding."""

import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.export import signatures

SIDE = int(signatures.MOST_PIXELS**0.5)  # 5792 x 5792 is just below the limit
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


IMAGE, BATCH = "An image has more than 33554432 pixels", "134217728 pixels together"
NEITHER = "The file is neither PNG nor JPEG"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([png(SIDE, SIDE)], None),
        ([jpeg(SIDE, SIDE), png(1, 1)], None),
        ([png(SIDE, SIDE)] * 4, None),
        ([png(SIDE + 1, SIDE + 1)], IMAGE),
        ([jpeg(SIDE + 1, SIDE + 1)], IMAGE),
        ([png(1, 2**25 + 1)], IMAGE),
        ([png(2**32 - 1, 2**32 - 1)], IMAGE),
        ([png(8, 8), png(30_000, 30_000)], IMAGE),
        ([png(SIDE, SIDE)] * 5, BATCH),
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
