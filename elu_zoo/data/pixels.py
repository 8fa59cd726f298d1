"""Encoded images to pixels of a fixed size: the zoo's one decoder, with checks."""

import struct

import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.data import formats, orientation, shapes

# Above, more memory than a decoder should be trusted with.
MOST_PIXELS = 2**27
_TINY_SIDE = 32
_PNG_GREY = (b"\0", b"\4")  # types of colour, the second with transparency
_LUMA = (0.299, 0.587, 0.114)
_AT_ONCE = 1000


Shape = tuple[int, int, int]


def decoded(
    encoded: tf.Tensor, shape: Shape, is_plain: tf.Tensor | None = None
) -> tf.Tensor:
    """Decodes a PNG or JPEG image, in a graph too.

    The decoder is the same for training, prediction and exports. Its JPEGs are those of
    Pillow and other programs that use libjpeg's defaults; they are turned upright, see
    `orientation.upright`. Transparency is laid on white.

    Args:
        encoded: scalar string tensor, the content of a file.
        shape: of the result, of 1 or 3 channels; see `fitted`.
        is_plain: see `are_plain`, which is quicker for many files at once; None looks.

    Returns:
        uint8 tensor of this shape.

    Raises:
        tf.errors.InvalidArgumentError: it is damaged, or of another format (when it
            runs).
    """
    is_plain = are_plain(encoded) if is_plain is None else is_plain
    image = tf.cond(is_plain, lambda: _jpeg(encoded), lambda: _any(encoded))
    return fitted(tf.ensure_shape(image, (None, None, 3)), shape)


def are_plain(encoded: tf.Tensor) -> tf.Tensor:
    """Whether each file is a JPEG without EXIF, in a graph too.

    Args:
        encoded: string tensor of any shape, the contents of files.

    Returns:
        bool tensor of its shape.
    """
    return _is_jpeg(encoded) & ~orientation.have_exif(encoded)


def _is_jpeg(encoded: tf.Tensor) -> tf.Tensor:
    return tf.equal(tf.strings.substr(encoded, 0, len(formats.JPEG)), formats.JPEG)


def _jpeg(encoded: tf.Tensor) -> tf.Tensor:
    # The default decoder is faster by some percent and off by up to 13 levels.
    return tf.io.decode_jpeg(encoded, channels=3, dct_method="INTEGER_ACCURATE")


# One node of a graph: each node of a branch that is not taken costs a microsecond.
@tf.function(
    input_signature=[tf.TensorSpec((), tf.string)],
    autograph=False,
    experimental_attributes={"_noinline": True},
)
def _any(encoded: tf.Tensor) -> tf.Tensor:
    return tf.cond(
        _is_jpeg(encoded),
        lambda: orientation.upright(_jpeg(encoded), encoded),
        lambda: _png(encoded),
    )


def _png(encoded: tf.Tensor) -> tf.Tensor:
    # libpng adds no opacity to pixels of less than a byte (the 25th byte says how many
    # bits), and TensorFlow then reads memory that nothing was written to.
    first = tf.strings.regex_replace(
        encoded, r"^\C{24}[\x01\x02\x04]\C*?(tRNS|IDAT)", r"\1", replace_global=False
    )
    return tf.cond(
        tf.equal(tf.strings.substr(first, 0, 4), "IDAT"),
        lambda: tf.io.decode_png(encoded, channels=3),
        # Four channels of a GIF, which the decoder takes too, are refused.
        lambda: _on_white(tf.io.decode_png(encoded, channels=4)),
    )


def _on_white(images: tf.Tensor) -> tf.Tensor:
    """Lays images, uint8, on white; their last channel is opacity."""
    colours, opacity = images[..., :-1], images[..., -1:]

    def laid():
        # Products of bytes are within uint16, which takes half of float32's memory.
        ink = tf.cast(255 - colours, tf.uint16) * tf.cast(opacity, tf.uint16)
        return 255 - tf.cast((ink + 127) // 255, tf.uint8)

    return tf.cond(tf.reduce_all(opacity == 255), lambda: colours, laid)


def fitted(images: tf.Tensor, shape: Shape) -> tf.Tensor:
    """Adapts images to a shape, in a graph too.

    Transparency is laid on white; grey becomes three equal channels, colours become
    their luma (ITU-R BT.601). Another size is resized to fit, bilinear with
    antialiasing, without keeping proportions, as the paper resizes ImageNet (4.4).

    Args:
        images: uint8 `(..., height, width, channels)`, of 1 to 4 channels, which are
            known; the second or fourth is opacity.
        shape: `(height, width, channels)` of the result, of 1 or 3 channels.

    Returns:
        uint8 tensor `(..., *shape)`.
    """
    height, width, channels = shape
    if images.shape[-1] in (2, 4):
        images = _on_white(images)
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


def checked(
    encoded: bytes, shape: Shape, least_side: int = shapes.LEAST_SIDE
) -> tuple[np.ndarray, str]:
    """Decodes an image that may be anything.

    Args:
        encoded: the content of a file.
        shape: see `decoded`.
        least_side: height and width that it has at least, in pixels.

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
        if min(height, width) < least_side or height * width > MOST_PIXELS:
            raise errors.DataError(
                f"it has {height} x {width} pixels; usable are sides of at least "
                f"{least_side} and at most {MOST_PIXELS} pixels in all"
            )
        pixels = decoded(tf.constant(encoded), shape).numpy()
    except tf.errors.InvalidArgumentError as error:
        # The libraries' own words are of their functions, such as jpeg::Uncompress.
        raise errors.DataError("the file is damaged or cut off") from error
    except tf.errors.OpError as error:
        reason = errors.graph_reason(error.message).rstrip(".")
        raise errors.DataError(f"it cannot be decoded: {reason}") from error
    odd += ["tiny"] if min(height, width) < _TINY_SIDE else []
    return pixels, ", ".join(odd)


def header(encoded: bytes) -> tuple[int, int, list[str]]:
    """Returns height, width and what is unusual about an image, without decoding it.

    Raises:
        DataError: it is neither JPEG nor PNG.
        tf.errors.InvalidArgumentError: it is a JPEG whose header is damaged.
    """
    if encoded.startswith(formats.JPEG):
        height, width, channels = tf.io.extract_jpeg_shape(encoded).numpy().tolist()
        return height, width, {1: ["grey"], 4: ["cmyk"]}.get(channels, [])
    if encoded.startswith(formats.PNG) and len(encoded) > 24:
        width, height = struct.unpack(">II", encoded[16:24])
        return height, width, ["png", *["grey"] * (encoded[25:26] in _PNG_GREY)]
    raise formats.refusal(encoded)
