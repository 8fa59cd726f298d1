"""Decoding, resizing and channels of images, and errors for unusable files."""

import base64
import io
import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf
from image_files import CMYK, CMYK_INKS, jpeg, noise, on_white, png, png_of
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import images


def triangle_filter(size, side):
    """Returns the weights `(side, size)` of bilinear resizing with antialiasing."""
    scale = size / side
    weights = np.zeros((side, size))
    for i in range(side):
        for j in range(size):
            distance = abs((j + 0.5) - (i + 0.5) * scale)
            weights[i, j] = max(0.0, 1 - distance / max(scale, 1))
    return weights / weights.sum(1, keepdims=True)


def resized_exactly(image, side):
    rows, columns = (triangle_filter(size, side) for size in image.shape[:2])
    return np.einsum("ij,jkc,lk->ilc", rows, image.astype(np.float64), columns)


def decoded_by_pillow(encoded):
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"))


SIZES = [(8, 8, 16), (16, 33, 16), pytest.param(300, 500, 32, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("height", "width", "side"), SIZES)
def test_resizing_equals_a_triangle_filter(height, width, side):
    image = noise(height, width) // 128 * 255  # overshoots are clipped
    pixels = images.decode(tf.constant(png(image)), (side, side, 3)).numpy()
    assert (pixels.dtype, pixels.shape) == (np.uint8, (side, side, 3))
    assert np.abs(pixels - resized_exactly(image, side)).max() <= 1


@pytest.mark.parametrize("encode", [png, jpeg])
def test_images_of_the_requested_size_are_not_resized(encode, monkeypatch):
    monkeypatch.setattr(tf.image, "resize", lambda *_, **__: tf.constant(0.0))
    encoded = encode(noise(24, 24))
    pixels = images.decode(tf.constant(encoded), (24, 24, 3))
    expected = noise(24, 24) if encode is png else decoded_by_pillow(encoded)
    np.testing.assert_array_equal(pixels, expected)


def test_a_graph_resizes_like_eager_code():
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def graph(encoded):
        pixels = images.decode(encoded, (16, 16, 3))
        assert pixels.shape == (16, 16, 3)
        return pixels

    for image in (noise(16, 16), noise(40, 20), noise(16, 20), noise(9, 40, 1, 1)):
        encoded = tf.constant(png(image))
        np.testing.assert_array_equal(graph(encoded), images.decode(encoded, (16, 16, 3)))


def rows_of_png(image):
    """Returns the IDAT chunk of a PNG whose rows have no filter."""
    return b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in image))


PALETTE = noise(1, 7, seed=4)[0]
INDICES = noise(40, 40, channels=1)[..., 0] % 7
COLOUR = noise(40, 40)
GREY = noise(40, 40, channels=1)


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        (png(GREY.astype("uint16") * 257), np.repeat(GREY, 3, -1)),
        (png_of(40, 40, 3, (b"PLTE", PALETTE.tobytes()), rows_of_png(INDICES)), PALETTE[INDICES]),
    ],
    ids=["16_bit", "palette"],
)
def test_kinds_of_images_are_decoded(encoded, expected):
    pixels = images.decode_checked(encoded, (40, 40, 3))
    assert (pixels.dtype, pixels.shape) == (np.uint8, (40, 40, 3))
    np.testing.assert_array_equal(pixels, expected)
    np.testing.assert_array_equal(pixels, images.decode(tf.constant(encoded), (40, 40, 3)))


def test_cmyk_images_are_converted_to_colours():
    pixels = images.decode_checked(CMYK, (12, 12, 3))
    for column, inks in zip((2, 9), CMYK_INKS, strict=True):
        colour = (255 - np.array(inks[:3])) * (255 - inks[3]) / 255
        np.testing.assert_allclose(pixels[:, column], np.tile(colour, (12, 1)), atol=6)


@pytest.mark.parametrize("encode", [jpeg, png])
@pytest.mark.parametrize(("size", "word"), [((7, 40), "least 8"), ((40, 31), "most 1200")])
def test_images_of_too_few_or_many_pixels_are_refused(encode, size, word):
    assert images.decode_checked(encode(noise(40, 30)), (8, 8, 3), max_pixels=1200).shape
    with pytest.raises(errors.DataError, match=f"{size[0]} x {size[1]} pixels.*{word}"):
        images.decode_checked(encode(noise(*size)), (16, 16, 3), max_pixels=1200)


BMP = b"BM" + struct.pack("<IIII", 306, 0, 54, 40)
BMP += struct.pack("<iiHHIIiiII", 9, 9, 1, 24, 0, 252, 0, 0, 0, 0) + bytes(252)
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


@pytest.mark.parametrize("encoded", [BMP, GIF], ids=["bmp", "gif"])
def test_other_formats_that_tensorflow_decodes_are_refused(encoded):
    assert tf.io.decode_image(encoded, expand_animations=False).shape[-1] == 3
    with pytest.raises(errors.DataError, match="^it is a (BMP|GIF); expected PNG or"):
        images.decode_checked(encoded, (16, 16, 3))
    with pytest.raises(tf.errors.InvalidArgumentError):
        images.decode(tf.constant(encoded), (16, 16, 3))


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        (png(COLOUR)[:24], "without its header"),
        (png(COLOUR)[:25], "damaged"),
        (jpeg(COLOUR)[:3], "damaged"),
    ],
    ids=["png24", "png25", "jpeg3"],
)
def test_files_that_are_not_images_are_refused(encoded, message):
    with pytest.raises(errors.DataError, match=message) as caught:
        images.decode_checked(encoded, (16, 16, 3))
    for part in ("\n", "[Op:", "{{"):
        assert part not in str(caught.value)


@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("stored_channels", [1, 2, 3, 4])
def test_channels_are_adapted(stored_channels, channels, shape):
    generator = np.random.default_rng(stored_channels)
    pixels = generator.integers(0, 256, (*shape, 9, 8, stored_channels), "uint8")
    colours = pixels if stored_channels % 2 else on_white(pixels)  # 2, 4: opacity
    colours = colours.astype("float64")
    if colours.shape[-1] < channels:
        colours = colours[..., [0, 0, 0]]
    elif colours.shape[-1] > channels:
        colours = np.round(colours @ [[0.299], [0.587], [0.114]])
    adapted = images.adapt(tf.constant(pixels), (9, 8, channels)).numpy()
    assert adapted.dtype == np.uint8
    np.testing.assert_allclose(adapted, colours, atol=1e-9)
    resized = images.adapt(tf.constant(pixels), (4, 5, channels))
    assert resized.shape == (*shape, 4, 5, channels)
