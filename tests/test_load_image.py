"""load_image: pixels, warnings and errors, compared with other readers of images."""

import io
import logging
import re

import numpy as np
import pytest
import tensorflow as tf
from image_files import CMYK, fill, jpeg, noise, png, with_exif
from PIL import Image, ImageOps

import elu_zoo
from elu_zoo import errors
from elu_zoo.data import images, load
from elu_zoo.export import inputs, predictor, signatures

GREY, COLOUR = "mnist_mlp_8x128", "elu_cifar_11"
SHAPES = {GREY: (28, 28, 1), COLOUR: (32, 32, 3)}


def pillow(pixels, form="PNG", mode=None, **options):
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    buffer = io.BytesIO()
    (image.convert(mode) if mode else image).save(buffer, form, **options)
    return buffer.getvalue()


SIXTEEN_BIT = noise(40, 36, channels=1).astype(np.uint16)[..., 0] * 257
FILES = {
    "grey_png": png(noise(28, 28, channels=1)),
    "colour_png": png(noise(32, 32)),
    "large_png": png(noise(50, 41)),
    "grey_with_alpha": png(noise(40, 36, channels=2)),
    "colour_with_alpha": png(noise(40, 36, channels=4)),
    "16_bit": pillow(SIXTEEN_BIT[..., None]),
    "two_transparent_bits": pillow(noise(40, 36), mode="P", bits=2, transparency=1),
    "one_bit": pillow(noise(40, 36), mode="1"),
    "transparent_palette": pillow(noise(40, 36), mode="P", transparency=3),
    "jpeg": jpeg(noise(44, 60)),
    "grey_jpeg": jpeg(noise(44, 60, channels=1)),
    "progressive": pillow(noise(44, 60), "JPEG", progressive=True),
    "cmyk": CMYK,
    "exif_6": with_exif(jpeg(noise(24, 48)), 6),
}
# The decoder of the signature `serve_bytes`.
serve_bytes = tf.function(signatures.decode_images)


def opened(name):
    return Image.open(io.BytesIO(FILES[name]))


@pytest.mark.parametrize("name", [n for n in FILES if n not in ("16_bit", "cmyk")])
def test_pixels_equal_those_of_pillow(name):
    with opened(name) as image:
        upright = ImageOps.exif_transpose(image).convert("RGBA")
    white = Image.new("RGBA", upright.size, "white")
    white.alpha_composite(upright)
    expected = np.asarray(white.convert("RGB"))
    decoded = images.decode(tf.constant(FILES[name]), expected.shape)
    np.testing.assert_array_equal(decoded, expected)
    grey = images.decode(tf.constant(FILES[name]), (*expected.shape[:2], 1)).numpy()
    difference = grey[..., 0].astype(int) - np.asarray(white.convert("L"), int)
    assert np.abs(difference).max() <= 1


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *((name, COLOUR) for name in FILES),
        *((name, GREY) for name in ("grey_png", "colour_with_alpha", "16_bit", "jpeg")),
    ],
)
def test_all_readers_return_equal_pixels(tmp_path, model, name):
    path, shape = tmp_path / "image", SHAPES[model]
    path.write_bytes(FILES[name])
    loaded = elu_zoo.load_image(path, model)
    assert (loaded.dtype, loaded.shape) == (np.uint8, (1, *shape))
    read = inputs.read_files([str(path)], predictor.Predictor(None, shape, ["a", "b"]))
    np.testing.assert_array_equal(read.images, loaded)

    served = serve_bytes(tf.constant([FILES[name]] * 2), shape)
    np.testing.assert_array_equal(served, np.repeat(loaded, 2, 0))

    parts = [*(f"train/{c}/{i}" for c in "ab" for i in range(3)), "val/a/0", "val/b/0"]
    photos = {f"{part}.png": FILES[name] for part in [*parts, "test/a/0", "test/b/0"]}
    data = load.load(str(fill(tmp_path / "photos", photos)), None, shape)
    np.testing.assert_array_equal(data.test.images[:1], loaded)


IN_MEMORY = "colour_png grey_with_alpha 16_bit transparent_palette one_bit exif_6".split()


@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("jpeg", lambda path: bytearray(path.read_bytes())),
        ("jpeg", lambda path: io.BytesIO(path.read_bytes())),
        ("jpeg", lambda path: np.asarray(opened("jpeg"))[None].astype(np.float32)),
        ("jpeg", lambda path: tf.constant(np.asarray(opened("jpeg")))),
        ("grey_jpeg", lambda path: np.asarray(opened("grey_jpeg"))),
        ("colour_with_alpha", lambda path: np.asarray(opened("colour_with_alpha"))),
        *((name, lambda path, name=name: opened(name)) for name in IN_MEMORY),
        ("16_bit", lambda path: Image.fromarray(SIXTEEN_BIT.astype(">u2"))),
    ]
)  # fmt: skip
def test_images_in_memory_are_read_like_files(tmp_path, name, convert):
    path = tmp_path / "image"
    path.write_bytes(FILES[name])
    expected = elu_zoo.load_image(str(path), COLOUR)
    loaded = elu_zoo.load_image(convert(path), COLOUR)
    np.testing.assert_array_equal(loaded, expected)
    batch = elu_zoo.load_image([convert(path), path], COLOUR)
    np.testing.assert_array_equal(batch, np.concatenate([expected] * 2))


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp_is_read_like_pillow(tmp_path, mode):
    pixels = noise(32, 32, channels=len(mode))
    path = tmp_path / "a.webp"
    path.write_bytes(pillow(pixels, "WEBP", lossless=True))
    expected = elu_zoo.load_image(png(pixels), COLOUR)
    np.testing.assert_array_equal(elu_zoo.load_image(path, COLOUR), expected)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(errors.DataError, match="damaged"):
        elu_zoo.load_image(path, COLOUR)


@pytest.mark.parametrize(
    ("source", "options", "word"),
    [
        (Image.fromarray(np.full((40, 40), 30_000, "int32")), {}, "30000.*Scale them"),
        (Image.fromarray(np.full((40, 40), 0.5, "float32")), {}, "by 255"),
        ([], {}, "Received: .0,"),
        ("https://example.com/a.png", {}, "a URL"),
        (np.zeros((3, 40, 40), np.uint8), {}, "channels"),
        (np.full((40, 40, 3), 0.5), {}, "by 255"),
        (np.full((40, 40, 3), np.nan), {}, "0..255.*Scale"),
        (noise(40, 40), {"digit": True}, "Remove digit=True"),
    ],
)
def test_other_sources_and_options_are_refused(monkeypatch, source, options, word):
    with pytest.raises(errors.UsageError, match=word) as caught:
        elu_zoo.load_image(source, **{"name": COLOUR, **options})
    assert "\n" not in str(caught.value)
    monkeypatch.setattr("elu_zoo.images._raw_shape", lambda *_: (32, 32, 4))
    with pytest.raises(errors.UsageError, match="1 or 3 channels"):
        elu_zoo.load_image(noise(40, 40), COLOUR)


INK = np.zeros((40, 40, 1), np.uint8)
INK[6:35, 18:23] = 220


@pytest.mark.parametrize(
    ("pixels", "warning"),
    [
        (INK, ""),
        (255 - INK, "a.png: .* not black; .* pass digit=True."),
        (INK // 220, r"pixels in \[0, 1\]; expected 0..255.$"),
    ],
)
def test_unlikely_pixels_are_reported(tmp_path, caplog, pixels, warning):
    (tmp_path / "a.png").write_bytes(png(pixels))
    with caplog.at_level(logging.WARNING):
        elu_zoo.load_image(tmp_path / "a.png", GREY)
    (message,) = caplog.messages or [""]
    assert bool(message) == bool(warning)
    assert re.search(warning, message)
