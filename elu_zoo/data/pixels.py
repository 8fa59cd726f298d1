"""One encoded image of a training set to pixels of a fixed size, with checks."""

import struct

import numpy as np
import tensorflow as tf

from elu_zoo import errors

# Below, a picture of nothing; above, more memory than a decoder should be trusted with.
_LEAST_SIDE = 8
_MOST_PIXELS = 2**27
_TINY_SIDE = 32
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"
_PNG_GREY = (b"\0", b"\4")  # types of colour, the second with transparency


def resized(encoded: tf.Tensor, side: int) -> tf.Tensor:
    """Decodes a JPEG or PNG image, in a graph too.

    Args:
        encoded: scalar string tensor.
        side: of the result; an image of another size is resized to fit, bilinear
            with antialiasing, without keeping its proportions (paper, 4.4).

    Returns:
        uint8 tensor `(side, side, 3)`.
    """
    image = tf.io.decode_image(encoded, channels=3, expand_animations=False)
    image = tf.cond(
        tf.reduce_all(tf.shape(image)[:2] == side),
        lambda: image,
        lambda: _resized(image, side),
    )
    return tf.ensure_shape(image, (side, side, 3))


def _resized(image: tf.Tensor, side: int) -> tf.Tensor:
    image = tf.image.resize(image, (side, side), "bilinear", antialias=True)
    return tf.cast(tf.clip_by_value(tf.round(image), 0.0, 255.0), tf.uint8)


def checked(encoded: bytes, side: int) -> tuple[np.ndarray, str]:
    """Decodes an image that may be anything.

    Args:
        encoded: the content of a file.
        side: see `resized`.

    Returns:
        The pixels, uint8 `(side, side, 3)`, and what is unusual about the image,
        with commas between: "grey", "cmyk", "png", "tiny" (a side below 32 pixels).

    Raises:
        DataError: it is no image that can be used; the message is the reason.
    """
    if not encoded:
        raise errors.DataError("the file is empty")
    try:
        if encoded.startswith(_JPEG):
            height, width, channels = tf.io.extract_jpeg_shape(encoded).numpy().tolist()
            odd = {1: ["grey"], 4: ["cmyk"]}.get(channels, [])
        elif encoded.startswith(_PNG) and len(encoded) > 24:
            width, height = struct.unpack(">II", encoded[16:24])
            odd = ["png", "grey"] if encoded[25:26] in _PNG_GREY else ["png"]
        else:
            raise errors.DataError("it is neither JPEG nor PNG")
        if min(height, width) < _LEAST_SIDE or height * width > _MOST_PIXELS:
            raise errors.DataError(
                f"it has {height} x {width} pixels; usable are sides of at least "
                f"{_LEAST_SIDE} and at most {_MOST_PIXELS} pixels in all"
            )
        pixels = resized(tf.constant(encoded), side).numpy()
    except tf.errors.OpError as error:
        reason = " ".join(error.message.split("[Op:")[0].split("}}")[-1].split())
        reason = reason.rstrip(".")
        raise errors.DataError(f"it cannot be decoded: {reason}") from error
    odd += ["tiny"] if min(height, width) < _TINY_SIDE else []
    return pixels, ", ".join(odd)
