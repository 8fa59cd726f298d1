"""EXIF orientation of JPEG files, and rotation of the images upright."""

import tensorflow as tf

_SEARCHED = 2**17  # bytes from the start of a file; segments may precede EXIF
_MAX_SEGMENT = 2**16  # bytes
# Two bytes of the marker, two bytes of the length, and the name of the EXIF segment.
# RE2 cannot match bytes above 127, so `_orientation` compares the marker with `_MARKER`.
_SEGMENT = r"^\C*?(\C\C\C\CExif\x00\x00)"
_NAME = r"Exif\x00\x00"
_MARKER = (0xFF, 0xE1)
_TIFF = 10  # offset of the segment's content from its marker
_LITTLE_ENDIAN = 0x49  # the letter I; big-endian files have the letter M
_MAGIC = 42
_ENTRY = 6  # 16-bit words: tag, type, two words of the count, two words of the value
_TAG, _SHORT = 0x0112, 3
# For each orientation 1..8, the operations that make the image upright.
_TRANSPOSED = (False,) * 4 + (True,) * 4
_ROWS_REVERSED = (False, False, True, True, False, False, True, True)
_COLUMNS_REVERSED = (False, True, True, False, False, True, True, False)


def upright(image: tf.Tensor, encoded: tf.Tensor) -> tf.Tensor:
    """Rotates and mirrors the image of a JPEG file by its EXIF orientation.

    The image is unchanged if the first 128 KiB of the file hold no valid orientation.
    """
    head = tf.strings.substr(encoded, 0, _SEARCHED)
    # This test is much faster than `_orientation`, and most files have no EXIF data.
    is_plain = tf.equal(tf.strings.regex_replace(head, _NAME, "", replace_global=False), head)
    return tf.cond(is_plain, lambda: image, lambda: _rotate(image, _orientation(head)))


def _orientation(head: tf.Tensor) -> tf.Tensor:
    """Returns the EXIF orientation 1..8 in the start of a file, or 1 without any."""
    segment = tf.strings.regex_replace(head, _SEGMENT, r"\1", replace_global=False)
    # `decode_raw` pads a short segment with zeros. All numbers read below have 16 bits.
    content = tf.io.decode_raw(segment, tf.uint8, fixed_length=_TIFF + _MAX_SEGMENT)
    pairs = tf.reshape(tf.cast(content, tf.int32), (-1, 2))
    is_little = tf.equal(pairs[_TIFF // 2, 0], _LITTLE_ENDIAN)
    words = tf.reduce_sum(pairs * tf.where(is_little, (1, 256), (256, 1)), 1)
    tiff = words[_TIFF // 2 :]
    is_exif = tf.reduce_all(pairs[0] == _MARKER) & tf.equal(tiff[1], _MAGIC)
    # The directory's offset has 32 bits. The upper 16 bits are 0 in so short a segment.
    offset = tf.where(is_little, tiff[2], tiff[3])
    # Slices end at the end of the content, whatever a damaged file claims.
    directory = tiff[offset // 2 :]
    count = tf.minimum(directory[0], (tf.size(directory) - 1) // _ENTRY)
    entries = tf.reshape(directory[1 : 1 + _ENTRY * count], (-1, _ENTRY))
    tags, types, _, _, values, _ = tf.unstack(entries, axis=1)
    is_valid = (tags == _TAG) & (types == _SHORT) & (values >= 1) & (values <= 8)
    value = tf.reduce_max(tf.where(is_exif & is_valid, values, 1))
    return tf.maximum(value, 1)  # reduce_max over no entries is the smallest integer.


def _rotate(image: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    # Pixels are gathered by index, because oneDNN logs an error for tf.transpose on a
    # CPU without AVX-512.
    height, width, channels = tf.unstack(tf.shape(image))
    is_transposed = tf.constant(_TRANSPOSED)[value - 1]
    sizes = tf.where(is_transposed, (width, height), (height, width))
    strides = tf.where(is_transposed, (1, width), (width, 1))

    def offsets(axis, reversals):
        forwards = tf.range(sizes[axis])
        is_reversed = tf.constant(reversals)[value - 1]
        backwards = sizes[axis] - 1 - forwards
        return strides[axis] * tf.where(is_reversed, backwards, forwards)

    indices = offsets(0, _ROWS_REVERSED)[:, None] + offsets(1, _COLUMNS_REVERSED)
    return tf.gather(tf.reshape(image, (height * width, channels)), indices)
