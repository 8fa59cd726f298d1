"""Files whose headers state too many pixels are refused before decoding."""

import struct

import pytest
import tensorflow as tf
from image_files import jpeg_of, png_of

from elu_zoo.data.images import MAX_PIXELS
from elu_zoo.export import signatures

SIDE = int(MAX_PIXELS**0.5)  # 11585 x 11585 is just below the limit
MAGIC = b"\x89PNG\r\n\x1a\n"


def png(height, width):
    return png_of(height, width, 0)


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
        ([jpeg_of(8000, 6000), png(1, 1)], None),  # A photograph of 48 megapixels.
        ([png(SIDE + 1, SIDE + 1)], TOO_MANY),
        ([jpeg_of(SIDE + 1, SIDE + 1)], TOO_MANY),
        ([png(1, 2**27 + 1)], TOO_MANY),
        ([png(2**32 - 1, 2**32 - 1)], TOO_MANY),
        ([png(8, 8), png(30_000, 30_000)], TOO_MANY),
        ([jpeg_of(8000, 6000)] * 3, TOO_MANY),
        # The chunk before the header looks like a header of 8 x 8 pixels.
        ([MAGIC + struct.pack(">I4sIII", 8, b"abCd", 8, 8, 0) + png(30_000, 30_000)[8:]], NEITHER),
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
