import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import images, pixels

COLOUR = np.random.default_rng(0).integers(0, 256, (6, 5, 3), "uint8")
GRAY = COLOUR[..., :1]


def encode(pixels, form, mode=None):
    picture = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    buffer = io.BytesIO()
    (picture.convert(mode) if mode else picture).save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("pixels", "form", "mode", "expected"),
    [
        (GRAY, "PNG", None, GRAY),
        (COLOUR, "PNG", None, COLOUR),
        (COLOUR, "PNG", "RGBA", COLOUR),
        (GRAY, "PNG", None, np.repeat(GRAY, 3, -1)),
        (np.full((6, 5, 3), 80, "uint8"), "JPEG", None, np.full((6, 5, 3), 80)),
        (np.full((6, 5, 3), 80, "uint8"), "JPEG", None, np.full((6, 5, 1), 80)),
    ],
)
def test_decodes_without_resizing(pixels, form, mode, expected):
    image = images.decode_image(tf.constant(encode(pixels, form, mode)), expected.shape)
    assert image.dtype == tf.float32
    np.testing.assert_array_equal(image, expected)


def test_resizes_with_antialiasing():
    """A checkerboard becomes even; without antialiasing it would stay extreme."""
    board = (np.indices((64, 64)).sum(0) % 2 * 255).astype("uint8")[..., None]
    image = images.decode_image(tf.constant(encode(board, "PNG")), (8, 16, 1))
    assert image.shape == (8, 16, 1)
    assert np.abs(image - 127.5).max() < 12
    assert 0 <= np.min(image) and np.max(image) <= 255


@pytest.mark.parametrize("shape", [(4, 4, 1), (9, 7, 3)])
def test_works_in_a_saved_model_with_stock_operations(tmp_path, shape):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, encoded):
            return tf.map_fn(
                lambda one: images.decode_image(one, shape),
                encoded,
                fn_output_signature=tf.TensorSpec(shape, tf.float32),
            )

    module = Module()
    batch = tf.constant([encode(COLOUR, "PNG"), encode(GRAY, "JPEG")])
    tf.saved_model.save(module, str(tmp_path))
    result = tf.saved_model.load(str(tmp_path))(batch)
    assert result.shape == (2, *shape)
    np.testing.assert_array_equal(result, module(batch))
    for one, encoded in zip(result, batch, strict=True):
        np.testing.assert_array_equal(one, images.decode_image(encoded, shape))
    assert b"PyFunc" not in (tmp_path / "saved_model.pb").read_bytes()


@pytest.mark.parametrize("form", ["png", "BMP", "gif"])
@pytest.mark.parametrize("channels", [1, 3])
def test_reads_lossless_forms(tmp_path, form, channels):
    gray = np.repeat(GRAY, 3, -1)
    path = tmp_path / f"image.{form}"
    path.write_bytes(encode(gray, form))
    read, paths = images.read_images(str(path), (6, 5, channels))
    assert paths == [path]
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, gray[None, ..., :channels], atol=1e-4)


def test_reads_a_folder_sorted_by_name(tmp_path):
    for name, value in (("b.JPG", 2), ("a.png", 1), ("c.bmp", 3), ("d.jpeg", 4)):
        form = {"JPG": "JPEG"}.get(name[2:], name[2:])
        pixels = np.full((4, 4, 3), value * 50, "uint8")
        (tmp_path / name).write_bytes(encode(pixels, form))
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / "._a.png").write_text("what another system leaves behind")
    read, paths = images.read_images(tmp_path, (4, 4, 1))
    assert [path.name for path in paths] == ["a.png", "b.JPG", "c.bmp", "d.jpeg"]
    assert read.shape == (4, 4, 4, 1)
    np.testing.assert_allclose(read[:, 0, 0, 0], [50, 100, 150, 200], atol=1)


def test_reads_files_in_the_given_order_whatever_their_suffix(tmp_path):
    for name, value in (("z", 10), ("a.dat", 20)):
        (tmp_path / name).write_bytes(encode(np.full((2, 2, 1), value, "uint8"), "PNG"))
    read, paths = images.read_images([tmp_path / "z", tmp_path / "a.dat"], (2, 2, 1))
    assert [path.name for path in paths] == ["z", "a.dat"]
    assert read[:, 0, 0, 0].tolist() == [10, 20]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"GIF89a nothing", "cannot be decoded as an image of 1 channel"),
        (b"BM nothing", "cannot be decoded"),
        (b"no image at all", "cannot be decoded"),
        (encode(COLOUR, "PNG")[:-60], "cannot be decoded"),
    ],
)
def test_bad_files_are_named(tmp_path, content, message):
    (tmp_path / "a.png").write_bytes(encode(GRAY, "PNG"))
    (tmp_path / "bad.png").write_bytes(content)
    with pytest.raises(errors.DataError, match=message) as caught:
        images.read_images(tmp_path, (6, 5, 1))
    assert str(tmp_path / "bad.png") in str(caught.value)


def test_cmyk_becomes_grey(tmp_path):
    (tmp_path / "inks.jpg").write_bytes(encode(COLOUR, "JPEG", "CMYK"))
    colour, _ = images.read_images(tmp_path, (5, 6, 3))
    grey, _ = images.read_images(tmp_path, (5, 6, 1))
    np.testing.assert_allclose(grey, colour @ [[0.299], [0.587], [0.114]], atol=1e-3)


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_too_many_pixels_are_refused_before_decoding(tmp_path, monkeypatch, form):
    monkeypatch.setattr(pixels, "MOST_PIXELS", 29)
    monkeypatch.setattr(images, "decode_image", None)
    (tmp_path / "big").write_bytes(encode(COLOUR, form))
    with pytest.raises(errors.DataError, match=r"big has 6 x 5 pixels; .* most 29 in"):
        images.read_images(tmp_path / "big", (6, 5, 3))


def test_bad_paths(tmp_path):
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        images.read_images([tmp_path / "missing.png"], (6, 5, 1))
    with pytest.raises(errors.DataError, match="holds no image"):
        images.read_images(tmp_path, (6, 5, 1))
    with pytest.raises(errors.UsageError, match="No image was given"):
        images.read_images([], (6, 5, 1))
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(errors.DataError, match="Cannot read .*folder.png"):
        images.read_images(tmp_path, (6, 5, 1))


def test_bad_shape():
    with pytest.raises(errors.UsageError, match="1 or 3 channels"):
        images.decode_image(tf.constant(encode(GRAY, "PNG")), (6, 5, 4))
