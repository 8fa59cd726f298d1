"""Reading of image files and folders for prediction."""

import logging
import os
import socket
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from image_files import CMYK, classes, fill, jpeg, jpeg_of, noise, png, png_of
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import image_files, load

GREY = noise(6, 5, channels=1)
SHAPE = 6, 5, 1
GIF = b"GIF89a" + bytes(20)


def test_images_of_a_folder_are_sorted_by_name(tmp_path):
    shades = {"b.JPG": 100, "a.png": 50, "d.jpeg": 200, "c.Png": 150}
    for name, shade in shades.items():
        encode = png if name in ("a.png", "c.Png") else jpeg
        (tmp_path / name).write_bytes(encode(np.full((4, 4, 3), shade, "uint8")))
    (tmp_path / "class_names.txt").write_text("a\tnot an image")
    (tmp_path / "._a.png").write_text("a file that macOS leaves behind")
    os.mkfifo(tmp_path / "pipe")
    read = image_files.read_images([tmp_path], (4, 4, 1))
    assert [Path(name).name for name in read.names] == ["a.png", "b.JPG", "c.Png", "d.jpeg"]
    assert (read.pixels.dtype, read.pixels.shape) == (np.uint8, (4, 4, 4, 1))
    assert read.pixels[:, 0, 0, 0].tolist() == [50, 100, 150, 200]
    assert read.left_out == []


def test_unusable_files_of_a_folder_are_left_out(tmp_path):
    bad = {"empty.png": b"", "moving.gif": GIF, "photo.heic": b"\0\0\0\x18ftypheic"}
    fill(tmp_path, {"1.png": png(GREY), "9.png": png(255 - GREY), **bad})
    (tmp_path / "link.png").symlink_to(tmp_path / "none")
    (tmp_path / "hollow").mkdir()
    read = image_files.read_images([tmp_path / "hollow", tmp_path], SHAPE)
    np.testing.assert_array_equal(read.pixels, [GREY, 255 - GREY])
    assert read.names == [f"{tmp_path}/1.png", f"{tmp_path}/9.png"]
    assert read.left_out == [
        f"{tmp_path}/hollow holds no image; expected PNG, JPEG or WebP.",
        f"{tmp_path}/empty.png cannot be used: the file is empty.",
        f"{tmp_path}/link.png does not exist.",
        f"{tmp_path}/moving.gif cannot be used: it is a GIF; expected PNG, JPEG or WebP.",
        f"{tmp_path}/photo.heic cannot be used: it is a HEIC or an AVIF; expected PNG, JPEG or "
        "WebP.",
    ]


def test_an_animated_webp_is_refused_before_it_is_decoded(tmp_path):
    # TensorFlow's decoder writes it past the end of its memory.
    still, *others = (Image.fromarray(noise(64, 64, seed)) for seed in range(3))
    still.save(tmp_path / "a.webp", save_all=True, append_images=others)
    with pytest.raises(errors.DataError, match="animation"):
        image_files.read_image(tmp_path / "a.webp", SHAPE)


@pytest.mark.parametrize("mode", ["PA", "RGBa"])
def test_transparent_pixels_of_any_mode_are_white(mode):
    read = image_files.read_image(Image.new("RGBA", (5, 6), (9, 9, 9, 0)).convert(mode), SHAPE)
    assert read.pixels.min() == 255


def test_a_folder_without_a_usable_file_is_refused(tmp_path):
    fill(tmp_path, {f"{i}.gif": GIF for i in range(7)})
    with pytest.raises(errors.DataError, match="^None of 7 images can be used, .*0.gif .* a GIF"):
        image_files.read_images([tmp_path], SHAPE)
    with pytest.raises(errors.DataError, match="^[^ ]*0.gif cannot be used"):
        image_files.read_images([tmp_path / "0.gif"], SHAPE)


def test_a_missing_file_is_refused_before_any_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(image_files, "read_image", None)
    fill(tmp_path, {"good.png": png(GREY)})
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        image_files.read_images([tmp_path / "good.png", tmp_path / "missing.png"], SHAPE)


def test_a_warning_lists_folders_inside_a_folder(tmp_path, caplog):
    fill(tmp_path, {"x/1.png": png(GREY), "x/cats/2.png": b"", "x/dogs/3.png": b""})
    with caplog.at_level(logging.WARNING):
        read = image_files.read_images([tmp_path / "x"], SHAPE)
    assert len(read.names) == 1
    assert f"The folders inside {tmp_path}/x are not read: cats, dogs. Pass them." in caplog.text


def test_missing_and_folder_paths_are_refused(tmp_path):
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        image_files.read_image(tmp_path / "missing.png", SHAPE)
    with pytest.raises(errors.DataError, match="cannot be used: .*: it is a folder"):
        image_files.read_image(tmp_path, SHAPE)


# The header claims more pixels than the file holds. No code may decode this file.
HUGE = png_of(30_000, 30_000, 0, (b"IDAT", zlib.compress(bytes(30_001))))
BITMAP = b"BM" + bytes(12) + struct.pack("<IiiHH", 40, 30_000, 30_000, 1, 24)
DAMAGED = "the file is damaged or cut off"
# For each kind of file: its content, and why a training set with this file is refused,
# or None if the file is usable.
BAD_FILES = {
    "corrupt_png": (png(noise(16, 16))[:60], DAMAGED),
    "corrupt_jpeg": (jpeg(noise(64, 64))[:500], DAMAGED),
    "text": (b"no image at all", "its format is unknown; expected PNG"),
    "zero_bytes": (b"", "the file is empty"),
    "one_pixel": (png(noise(1, 1)), "it has 1 x 1 pixels; expected at least 8"),
    "huge_png": (HUGE, "it has 30000 x 30000 pixels; expected"),
    "huge_jpeg": (jpeg_of(30_000, 30_000), "it has 30000 x 30000 pixels; expected"),
    "huge_bitmap": (BITMAP + bytes(24), "it is a BMP; expected PNG"),
    "grey_png": (png(noise(16, 16, channels=1)), None),
    "transparent": (png(noise(16, 16, channels=4)), None),
    "cmyk": (CMYK, None),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_training_and_prediction_accept_or_refuse_unusual_files(tmp_path, kind):
    content, reason = BAD_FILES[kind]
    folder = fill(tmp_path, {**classes({"a": 6, "b": 6}), "a/x.png": content})
    path = folder / "a/x.png"
    if reason is None:
        data = load.load(folder, None, (16, 16, 3))
        assert sum(map(len, (data.train, data.validation, data.test))) == 13
    else:
        message = rf"^1 of 13 images cannot be used: {path}: {reason}.* Fix or delete"
        with pytest.raises(errors.DataError, match=message):
            load.load(folder, None, (16, 16, 3))
    for channels in (1, 3):
        shape = 28, 28, channels
        if reason is None or kind == "one_pixel":
            assert image_files.read_image(path, shape).pixels.shape == (1, *shape)
        else:
            with pytest.raises(errors.DataError, match=f"^{path} cannot be .*{reason}"):
                image_files.read_image(path, shape)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as unix_socket:
        unix_socket.bind(os.path.relpath(path))  # The absolute path may be too long.


def make_sparse(path):
    path.touch()
    os.truncate(path, 2**40)


# For each kind: a function that makes the file, and the reason that the error states.
SPECIAL = {
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a .*device"),
    "named_pipe": (os.mkfifo, "it is a named pipe.*"),
    "socket": (make_socket, "it is a .*socket.*"),
    "folder": (os.mkdir, "it is a folder"),
    "too_large": (make_sparse, f"is {2**40} bytes; an image file has at most {2**29}"),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_special_file_is_never_read(tmp_path, monkeypatch, kind):
    make, reason = SPECIAL[kind]
    monkeypatch.chdir(tmp_path)
    photos = fill(tmp_path / "photos", classes({"a": 5, "b": 5}))
    make(photos / "a/x.png")
    expected = rf"^1 of 11 images cannot be used: {photos}/a/x\.png: it .*{reason}\. F"
    with pytest.raises(errors.DataError, match=expected):
        load.load(photos, None, (16, 16, 3))
    if kind != "folder":
        read = image_files.read_images([photos / "a"], (16, 16, 3))
        assert len(read.names) == 5
        (left_out,) = read.left_out
        assert left_out.startswith(f"{photos}/a/x.png cannot be used: it ")
