"""Image files and folders of them, read to predict."""

import logging

import numpy as np
import pytest
from image_files import fill, jpeg, noise, png

from elu_zoo import errors
from elu_zoo.data import image_files, images

GREY = noise(6, 5, channels=1)
GIF = b"GIF89a" + bytes(20)


def test_reads_a_folder_sorted_by_name(tmp_path):
    shades = {"b.JPG": 100, "a.png": 50, "d.jpeg": 200, "c": 150}
    for name, shade in shades.items():
        encode = png if name in ("a.png", "c") else jpeg
        (tmp_path / name).write_bytes(encode(np.full((4, 4, 3), shade, "uint8")))
    (tmp_path / "class_names.txt").write_text("a\tnot an image")
    (tmp_path / "array.npy").write_bytes(bytes(100))
    (tmp_path / "._a.png").write_text("what another system leaves behind")
    read = image_files.read_images(tmp_path, (4, 4, 1))
    assert [path.name for path in read.paths] == ["a.png", "b.JPG", "c", "d.jpeg"]
    assert (read.pixels.dtype, read.pixels.shape) == (np.uint8, (4, 4, 4, 1))
    assert read.pixels[:, 0, 0, 0].tolist() == [50, 100, 150, 200]
    assert read.left_out == []


def test_reads_files_in_the_given_order_whatever_their_suffix(tmp_path):
    for name, value in (("z", 10), ("a.dat", 20)):
        (tmp_path / name).write_bytes(png(np.full((2, 2, 1), value, "uint8")))
    read = image_files.read_images([tmp_path / "z", tmp_path / "a.dat"], (2, 2, 1))
    assert [path.name for path in read.paths] == ["z", "a.dat"]
    assert read.pixels[:, 0, 0, 0].tolist() == [10, 20]


def test_what_a_folder_holds_and_cannot_be_used_is_left_out(tmp_path):
    bad = {"empty.png": b"", "moving": GIF, "photo.heic": b"\0\0\0\x18ftypheic"}
    fill(tmp_path, {"1.png": png(GREY), "9.png": png(255 - GREY), **bad})
    read = image_files.read_images(tmp_path, (6, 5, 1))
    np.testing.assert_array_equal(read.pixels, [GREY, 255 - GREY])
    assert read.left_out == [
        f"{tmp_path}/empty.png cannot be used: the file is empty.",
        f"{tmp_path}/moving cannot be used: it is a GIF; expected PNG or JPEG.",
        f"{tmp_path}/photo.heic cannot be used: it is a HEIC; expected PNG or JPEG.",
    ]


def test_a_link_that_leads_nowhere_is_left_out(tmp_path):
    fill(tmp_path, {"a.png": png(GREY)})
    (tmp_path / "b.png").symlink_to(tmp_path / "none")
    read = image_files.read_images(tmp_path, (6, 5, 1))
    assert read.paths == [tmp_path / "a.png"]
    assert read.left_out == [f"{tmp_path}/b.png does not exist."]


def test_a_folder_of_nothing_else(tmp_path):
    fill(tmp_path, {f"{i}.gif": GIF for i in range(7)})
    with pytest.raises(
        errors.DataError, match="^No image of 7 can be used: "
    ) as caught:
        image_files.read_images(tmp_path, (6, 5, 1))
    assert str(caught.value).count("it is a GIF; expected PNG or JPEG.") == 5
    assert str(caught.value).endswith(" And 2 more.")


def test_what_was_named_among_others_is_left_out(tmp_path):
    fill(tmp_path, {"good/1.png": png(GREY), "my.gif": GIF})
    (tmp_path / "none").mkdir()
    paths = [tmp_path / name for name in ("none", "my.gif", "good")]
    read = image_files.read_images(paths, (6, 5, 1))
    np.testing.assert_array_equal(read.pixels, [GREY])
    assert read.paths == [tmp_path / "good" / "1.png"]
    assert read.left_out == [
        f"{tmp_path}/none holds no image; expected PNG or JPEG.",
        f"{tmp_path}/my.gif cannot be used: it is a GIF; expected PNG or JPEG.",
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["my.gif"], "my.gif cannot be used: it is a GIF; expected PNG or JPEG.$"),
        (["none"], "none holds no image; expected PNG or JPEG.$"),
        (["my.gif", "none"], "^No image of 2 can be used: .*none holds .*my.gif can"),
    ],
)
def test_nothing_else_was_named(tmp_path, names, message):
    fill(tmp_path, {"my.gif": GIF})
    (tmp_path / "none").mkdir()
    with pytest.raises(errors.DataError, match=message):
        image_files.read_images([tmp_path / name for name in names], (6, 5, 1))


def test_a_missing_file_is_told_before_any_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(image_files, "read_image", None)
    fill(tmp_path, {"good.png": png(GREY)})
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        image_files.read_images(
            [tmp_path / "good.png", tmp_path / "missing.png"], (6, 5, 1)
        )


def test_folders_in_a_folder_are_told(tmp_path, caplog):
    fill(tmp_path, {"x/1.png": png(GREY), "x/cats/2.png": b"", "x/dogs/3.png": b""})
    with caplog.at_level(logging.WARNING):
        read = image_files.read_images(tmp_path / "x", (6, 5, 1))
    assert len(read.paths) == 1
    assert "x: the folders in it are not looked into (cats, dogs)" in caplog.text
    with pytest.raises(errors.DataError, match=r"Name the folders in it instead: x\."):
        image_files.read_images(tmp_path, (6, 5, 1))


@pytest.mark.parametrize("encode", [png, jpeg])
def test_too_many_pixels_are_refused_before_decoding(tmp_path, monkeypatch, encode):
    monkeypatch.setattr(images, "MOST_PIXELS", 29)
    monkeypatch.setattr(images, "decode", None)
    (tmp_path / "big").write_bytes(encode(noise(6, 5)))
    with pytest.raises(errors.DataError, match=r"big .* 6 x 5 pixels; .* most 29 pix"):
        image_files.read_images(tmp_path / "big", (6, 5, 3))


def test_bad_paths(tmp_path):
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        image_files.read_images([tmp_path / "missing.png"], (6, 5, 1))
    with pytest.raises(errors.DataError, match="holds no image; expected PNG or JP"):
        image_files.read_images(tmp_path, (6, 5, 1))
    with pytest.raises(errors.UsageError, match="No image was given"):
        image_files.read_images([], (6, 5, 1))
    with pytest.raises(errors.NotFoundError, match="missing.png does not exist"):
        image_files.read_image(tmp_path / "missing.png", (6, 5, 1))
    with pytest.raises(errors.DataError, match="cannot be used: .*: it is a folder"):
        image_files.read_image(tmp_path, (6, 5, 1))
