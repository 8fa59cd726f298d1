"""Decoding of images, and their adaptation to a size and a number of channels."""

import struct

import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.data import formats, orientation, shapes
from elu_zoo.data.shapes import Shape

MAX_PIXELS = 2**27  # The decoder would need gigabytes of memory for more pixels.
_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601
_BATCH = 1000  # images that are adapted at once, to bound the memory


def decode(encoded: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Decodes a PNG or JPEG image to uint8 pixels of a shape, eagerly or in a graph.

    Training, prediction and exports use this function. A JPEG has the same pixels as in
    Pillow and other software that uses libjpeg's defaults, and is rotated upright, see
    `orientation.upright`. Transparent pixels are blended with white. See also `adapt`.
    """
    return adapt(tf.ensure_shape(_decode(encoded), (None, None, 3)), shape)


# As a tf.function, the operations cost less time, eagerly and in a graph.
@tf.function(
    input_signature=[tf.TensorSpec((), tf.string)],
    autograph=False,
    experimental_attributes={"_noinline": True},
)
def _decode(encoded: tf.Tensor) -> tf.Tensor:
    is_jpeg = tf.equal(tf.strings.substr(encoded, 0, len(formats.JPEG)), formats.JPEG)
    return tf.cond(is_jpeg, lambda: _jpeg(encoded), lambda: _png(encoded))


def _jpeg(encoded: tf.Tensor) -> tf.Tensor:
    # The default method is a few percent faster, but its pixels are wrong by up to 13.
    image = tf.io.decode_jpeg(encoded, channels=3, dct_method="INTEGER_ACCURATE")
    return orientation.upright(image, encoded)


def _png(encoded: tf.Tensor) -> tf.Tensor:
    # libpng adds no opacity channel to pixels of less than 8 bits, and TensorFlow then
    # reads memory that was never written. The 25th byte of a file is the number of
    # bits. `first` starts with IDAT if it is below 8 and the file has no transparency.
    first = tf.strings.regex_replace(
        encoded, r"^\C{24}[\x01\x02\x04]\C*?(tRNS|IDAT)", r"\1", replace_global=False
    )
    return tf.cond(
        tf.equal(tf.strings.substr(first, 0, 4), "IDAT"),
        lambda: tf.io.decode_png(encoded, channels=3),
        # TensorFlow's decode_png decodes GIFs too, but not to 4 channels.
        lambda: _blend_with_white(tf.io.decode_png(encoded, channels=4)),
    )


def _blend_with_white(images: tf.Tensor) -> tf.Tensor:
    """Blends uint8 images, whose last channel is opacity, with white."""
    colours, opacity = images[..., :-1], images[..., -1:]

    def blend():
        # Products of bytes fit uint16, which needs half the memory of float32.
        ink = tf.cast(255 - colours, tf.uint16) * tf.cast(opacity, tf.uint16)
        return 255 - tf.cast((ink + 127) // 255, tf.uint8)

    return tf.cond(tf.reduce_all(opacity == 255), lambda: colours, blend)


def adapt(images: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Adapts images to a size and a number of channels, eagerly or in a graph.

    Transparent pixels are blended with white. Grey becomes three equal channels, and
    colour becomes luma (ITU-R BT.601). Images of another size are resized bilinearly
    with antialiasing and may change their proportions, as in the paper (section 4.4).

    The static number of channels is 1 to 4; the last of two or four is opacity. None for
    the height and the width of `shape` keeps the size.
    """
    height, width, channels = shape
    if images.shape[-1] in (2, 4):
        images = _blend_with_white(images)
    if images.shape[-1] > channels:
        luma = tf.tensordot(tf.cast(images, tf.float32), _LUMA, 1)
        images = _rounded(luma)[..., None]
    elif images.shape[-1] < channels:
        images = tf.repeat(images, channels, axis=-1)
    if height is not None:
        images = tf.cond(
            tf.reduce_all(tf.shape(images)[-3:-1] == (height, width)),
            lambda: images,
            lambda: _rounded(tf.image.resize(images, (height, width), "bilinear", antialias=True)),
        )
    return tf.ensure_shape(images, (*images.shape[:-3], *shape))


def resize(grey: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Returns a float image `(height, width)` in another size, with antialiasing."""
    return tf.image.resize(grey[..., None], size, "bilinear", antialias=True).numpy()[..., 0]


def adapt_all(images: np.ndarray, shape: Shape) -> np.ndarray:
    """Returns images in memory, adapted to a shape; see `adapt`."""
    result = np.empty((len(images), *shape), np.uint8)
    for start in range(0, len(images), _BATCH):
        part = slice(start, start + _BATCH)
        result[part] = adapt(tf.constant(images[part]), shape).numpy()
    return result


def _rounded(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.clip_by_value(tf.round(values), 0.0, 255.0), tf.uint8)


def webp_as_png(encoded: bytes) -> bytes:
    """Returns a WebP image as PNG; exports cannot decode WebP."""
    # TensorFlow writes four channels of an animation into memory for three.
    if encoded[12:16] == b"VP8X" and encoded[20:21] and encoded[20] & 2:
        raise errors.DataError("it is an animation; expected a single image")
    try:
        frames = tf.io.decode_webp(encoded)
    except tf.errors.OpError as error:
        raise errors.DataError("the WebP file is damaged or cut off") from error
    return tf.io.encode_png(frames[0]).numpy()


def decode_checked(
    encoded: bytes, shape: Shape, min_side: int = shapes.MIN_SIDE, max_pixels: int = MAX_PIXELS
) -> np.ndarray:
    """Decodes a file that may be damaged; the text of a `DataError` is the reason."""
    if not encoded:
        raise errors.DataError("the file is empty")
    try:
        height, width = _size(encoded)
        if min(height, width) < min_side or height * width > max_pixels:
            raise errors.DataError(
                f"it has {height} x {width} pixels; expected at least {min_side} on "
                f"each side and at most {max_pixels} in total"
            )
        return decode(tf.constant(encoded), shape).numpy()
    except tf.errors.InvalidArgumentError as error:
        # TensorFlow's message names functions, such as jpeg::Uncompress.
        raise errors.DataError("the file is damaged or cut off") from error
    except tf.errors.OpError as error:
        reason = errors.graph_reason(error.message).rstrip(".")
        raise errors.DataError(f"it cannot be decoded: {reason}") from error


def _size(encoded: bytes) -> tuple[int, int]:
    """Returns height and width of an image, without decoding it."""
    if encoded.startswith(formats.JPEG):
        height, width, _ = tf.io.extract_jpeg_shape(encoded).numpy().tolist()
        return height, width
    if encoded.startswith(formats.PNG) and len(encoded) > 24:
        width, height = struct.unpack(">II", encoded[16:24])
        return height, width
    raise formats.unsupported_error(encoded)
