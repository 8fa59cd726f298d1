"""One encoded image of a training set to pixels of a fixed size, with checks."""

import struct

import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.data import shapes

# Above, more memory than a decoder should be trusted with.
MOST_PIXELS = 2**27
_TINY_SIDE = 32
# Another chunk before IHDR would hide the sizes.
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_PNG_GREY = (b"\0", b"\4")  # types of colour, the second with transparency
CMYK = "cmyk"
_LUMA = (0.299, 0.587, 0.114)
_AT_ONCE = 1000


Shape = tuple[int, int, int]


def decoded(encoded: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Decodes a JPEG or PNG image, in a graph too.

    Args:
        encoded: scalar string tensor.
        shape: of the result, of 1 or 3 channels; see `fitted`.

    Returns:
        uint8 tensor of this shape.
    """
    # Its grey is that of `fitted`.
    image = tf.io.decode_image(encoded, channels=shape[2], expand_animations=False)
    return fitted(tf.ensure_shape(image, (None, None, shape[2])), shape)


def fitted(images: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Adapts images to a shape, in a graph too.

    An alpha channel is dropped; grey becomes three equal channels, colours become
    their luma (ITU-R BT.601). Another size is resized to fit, bilinear with
    antialiasing, without keeping proportions, as the paper resizes ImageNet (4.4).

    Args:
        images: uint8 `(..., height, width, channels)`, of 1 to 4 channels, which are
            known.
        shape: `(height, width, channels)` of the result, of 1 or 3 channels.

    Returns:
        uint8 tensor `(..., *shape)`.
    """
    height, width, channels = shape
    if images.shape[-1] in (2, 4):
        images = images[..., :-1]
    if images.shape[-1] > channels:
        luma = tf.tensordot(tf.cast(images, tf.float32), _LUMA, 1)
        images = _rounded(luma)[..., None]
    elif images.shape[-1] < channels:
        images = tf.repeat(images, channels, axis=-1)
    images = tf.cond(
        tf.reduce_all(tf.shape(images)[-3:-1] == (height, width)),
        lambda: images,
        lambda: _rounded(
            tf.image.resize(images, (height, width), "bilinear", antialias=True)
        ),
    )
    return tf.ensure_shape(images, (*images.shape[:-3], *shape))


def all_fitted(images: np.ndarray, shape: Shape) -> np.ndarray:
    """Returns `fitted` images of one size, some at once to bound the memory."""
    parts = range(0, len(images), _AT_ONCE)
    found = np.empty((len(images), *shape), np.uint8)
    for i in parts:
        part = tf.constant(images[i : i + _AT_ONCE])
        found[i : i + _AT_ONCE] = fitted(part, shape).numpy()
    return found


def _rounded(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.clip_by_value(tf.round(values), 0.0, 255.0), tf.uint8)


def checked(encoded: bytes, shape: Shape) -> tuple[np.ndarray, str]:
    """Decodes an image that may be anything.

    Args:
        encoded: the content of a file.
        shape: see `decoded`.

    Returns:
        The pixels, uint8 of this shape, and what is unusual about the image,
        with commas between: "grey", "cmyk", "png", "tiny" (a side below 32 pixels).

    Raises:
        DataError: it is no image that can be used; the message is the reason.
    """
    if not encoded:
        raise errors.DataError("the file is empty")
    try:
        height, width, odd = header(encoded)
        if min(height, width) < shapes.LEAST_SIDE or height * width > MOST_PIXELS:
            raise errors.DataError(
                f"it has {height} x {width} pixels; usable are sides of at least "
                f"{shapes.LEAST_SIDE} and at most {MOST_PIXELS} pixels in all"
            )
        if CMYK in odd and shape[2] == 1:
            raise errors.DataError(
                "it is CMYK, which is not made grey here; make it RGB"
            )
        pixels = decoded(tf.constant(encoded), shape).numpy()
    except tf.errors.OpError as error:
        reason = " ".join(error.message.split("[Op:")[0].split("}}")[-1].split())
        reason = reason.rstrip(".")
        raise errors.DataError(f"it cannot be decoded: {reason}") from error
    odd += ["tiny"] if min(height, width) < _TINY_SIDE else []
    return pixels, ", ".join(odd)


def header(encoded: bytes) -> tuple[int, int, list[str]]:
    """Returns height, width and what is unusual about an image, without decoding it.

    Raises:
        DataError: it is neither JPEG nor PNG.
        tf.errors.InvalidArgumentError: it is a JPEG whose header is damaged.
    """
    if encoded.startswith(_JPEG):
        height, width, channels = tf.io.extract_jpeg_shape(encoded).numpy().tolist()
        return height, width, {1: ["grey"], 4: [CMYK]}.get(channels, [])
    if encoded.startswith(_PNG) and len(encoded) > 24:
        width, height = struct.unpack(">II", encoded[16:24])
        return height, width, ["png", *["grey"] * (encoded[25:26] in _PNG_GREY)]
    raise errors.DataError("it is neither JPEG nor PNG")
