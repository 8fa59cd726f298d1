"""The EXIF orientation of a JPEG file, and turning its image upright."""

import tensorflow as tf

_SEARCHED = 2**17  # bytes of a file; other segments may stand before the EXIF segment
_MOST = 2**16  # bytes of a segment
# Marker and length of the EXIF segment, whose bytes RE2 cannot name, and its name.
_SEGMENT = r"^\C*?(\C\C\C\CExif\x00\x00)"
_NAME = r"Exif\x00\x00"
_MARKER = (0xFF, 0xE1)
_TIFF = 10  # offset of the segment's content from its marker
_LITTLE = 0x49  # the letter I; in big-endian files the letter M
_MAGIC = 42
_ENTRY = 6  # 16-bit words: tag, type, two of the count, two of the value
_TAG, _SHORT = 0x0112, 3
# How each orientation, 1..8, turns the stored image upright.
_TRANSPOSED = (False,) * 4 + (True,) * 4
_ROWS_REVERSED = (False, False, True, True, False, False, True, True)
_COLUMNS_REVERSED = (False, True, True, False, False, True, True, False)


def upright(image: tf.Tensor, encoded: tf.Tensor) -> tf.Tensor:
    """Turns and mirrors an image as its file says; works in a graph too.

    Args:
        image: `(height, width, channels)`, as it is stored.
        encoded: scalar string tensor, the JPEG file.

    Returns:
        The image as a person sees it; as it is stored where the file has no EXIF
        orientation in its first 128 KiB, or a damaged one.
    """
    return _turned(image, orientation(encoded))


def have_exif(encoded: tf.Tensor) -> tf.Tensor:
    """Whether each JPEG file has EXIF data; works in a graph too.

    Args:
        encoded: string tensor of any shape, the files.

    Returns:
        bool tensor of its shape.
    """
    head = tf.strings.substr(encoded, 0, _SEARCHED)
    without = tf.strings.regex_replace(head, _NAME, "", replace_global=False)
    return tf.not_equal(without, head)


def orientation(encoded: tf.Tensor) -> tf.Tensor:
    """Returns the EXIF orientation of a JPEG file, 1..8; 1 where it has none.

    Args:
        encoded: scalar string tensor, the file.
    """
    head = tf.strings.substr(encoded, 0, _SEARCHED)
    segment = tf.strings.regex_replace(head, _SEGMENT, r"\1", replace_global=False)
    # A short segment is padded with zeros. All numbers that are read have 16 bits.
    content = tf.io.decode_raw(segment, tf.uint8, fixed_length=_TIFF + _MOST)
    pairs = tf.reshape(tf.cast(content, tf.int32), (-1, 2))
    is_little = tf.equal(pairs[_TIFF // 2, 0], _LITTLE)
    words = tf.reduce_sum(pairs * tf.where(is_little, (1, 256), (256, 1)), 1)
    tiff = words[_TIFF // 2 :]
    is_exif = tf.reduce_all(pairs[0] == _MARKER) & tf.equal(tiff[1], _MAGIC)
    # The offset of the directory has 32 bits, of which the high ones are 0.
    offset = tf.where(is_little, tiff[2], tiff[3])
    # A slice ends where the content ends, whatever a damaged file says.
    directory = tiff[offset // 2 :]
    count = tf.minimum(directory[0], (tf.size(directory) - 1) // _ENTRY)
    entries = tf.reshape(directory[1 : 1 + _ENTRY * count], (-1, _ENTRY))
    tags, types, _, _, values, _ = tf.unstack(entries, axis=1)
    is_valid = (tags == _TAG) & (types == _SHORT) & (values >= 1) & (values <= 8)
    value = tf.reduce_max(tf.where(is_exif & is_valid, values, 1))
    return tf.maximum(value, 1)  # the maximum of no entries is less


def _turned(image: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    # Pixels are gathered by computed places: for tf.transpose oneDNN would log an error
    # on a CPU without AVX-512.
    height, width, channels = tf.unstack(tf.shape(image))
    is_transposed = tf.constant(_TRANSPOSED)[value - 1]
    sizes = tf.where(is_transposed, (width, height), (height, width))
    strides = tf.where(is_transposed, (1, width), (width, 1))

    def places(axis, reversals):
        forwards = tf.range(sizes[axis])
        is_reversed = tf.constant(reversals)[value - 1]
        backwards = sizes[axis] - 1 - forwards
        return strides[axis] * tf.where(is_reversed, backwards, forwards)

    both = places(0, _ROWS_REVERSED)[:, None] + places(1, _COLUMNS_REVERSED)
    return tf.gather(tf.reshape(image, (height * width, channels)), both)
