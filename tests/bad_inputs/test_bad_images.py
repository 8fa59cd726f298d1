"""Image files that are none, or that nobody should decode."""

import os
import socket
import struct
import time
import zlib

import numpy as np
import pytest
from image_files import CMYK, classes, fill, jpeg, jpeg_of, noise, png, png_of

from elu_zoo import errors
from elu_zoo.data import image_files, load

SECONDS = 5  # the most that an image may take; each takes milliseconds
# Of the pixels there are few: nobody may look for them.
HUGE = png_of(30_000, 30_000, 0, (b"IDAT", zlib.compress(bytes(30_001))))
BITMAP = b"BM" + bytes(12) + struct.pack("<IiiHH", 40, 30_000, 30_000, 1, 24)
DAMAGED = "the file is damaged or cut off"

# name, content, what a training set and a prediction say; None takes it.
FILES = [
    ("corrupt_png", png(noise(16, 16))[:60], DAMAGED, DAMAGED),
    ("corrupt_jpeg", jpeg(noise(64, 64))[:500], DAMAGED, DAMAGED),
    ("jpeg_without_an_end", jpeg(noise(64, 64))[:4], DAMAGED, DAMAGED),
    ("text", b"no image at all", "it is text; expected PNG", "it is text; expected"),
    ("zero_bytes", b"", "the file is empty", "the file is empty"),
    ("zeros", bytes(1000), "neither JPEG nor PNG", "neither JPEG nor PNG"),
    ("one_pixel", png(noise(1, 1)), "has 1 x 1 pixels; usable are", None),
    ("huge_png", HUGE, "has 30000 x 30000 pixels", "has 30000 x 30000 pixels"),
    ("huge_jpeg", jpeg_of(30_000, 30_000), "30000 x 30000", "30000 x 30000"),
    ("huge_bitmap", BITMAP + bytes(24), "it is a BMP; expected", "it is a BMP; exp"),
    ("grey_png", png(noise(16, 16, channels=1)), None, None),
    ("grey_jpeg", jpeg(noise(16, 16, channels=1)), None, None),
    ("transparent", png(noise(16, 16, channels=4)), None, None),
    ("cmyk", CMYK, None, None),
]
ROWS = [pytest.param(*row[1:], id=row[0]) for row in FILES]


@pytest.fixture(autouse=True)
def quick():
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < SECONDS


@pytest.mark.parametrize(("content", "words", "_"), ROWS)
def test_among_images_to_train_on(tmp_path, content, words, _):
    photos = {**classes({"a": 6, "b": 6}), "a/odd.png": content}
    folder = fill(tmp_path / "photos", photos)
    if words is None:
        data = load.load(str(folder), None, (16, 16, 3))
        assert sum(map(len, (data.train, data.validation, data.test))) == 13
        return
    with pytest.raises(errors.DataError, match=words) as caught:
        load.load(str(folder), None, (16, 16, 3))
    text = str(caught.value)
    assert f"1 of 13 images cannot be used: {folder}/a/odd.png: " in text
    assert text.endswith("Mend or delete them.")


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("content", "_", "words"), ROWS)
def test_to_predict(tmp_path, content, _, words, channels):
    path = tmp_path / "odd.png"
    path.write_bytes(content)
    if words is None:
        found = image_files.read_images(path, (28, 28, channels)).pixels
        assert found.shape == (1, 28, 28, channels)
        return
    with pytest.raises(errors.DataError, match=words) as caught:
        image_files.read_images(path, (28, 28, channels))
    assert str(caught.value).startswith(str(path))


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # an absolute path may be too long for it


def _large(path):
    path.touch()
    os.truncate(path, 2**40)


SPECIAL = {
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "named_pipe": (os.mkfifo, "it is a named pipe"),
    "socket": (_socket, "it is a socket"),
    "folder": (os.mkdir, "it is a folder"),
    "too_large": (_large, f"is {2**40} bytes; an image file has at most {2**29}"),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_special_file_is_never_read(tmp_path, monkeypatch, kind):
    make, words = SPECIAL[kind]
    monkeypatch.chdir(tmp_path)
    photos = fill(tmp_path / "photos", classes({"a": 20, "b": 20}))
    make(photos / "a/odd.png")
    expected = rf"^1 of 41 images cannot be used: {photos}/a/odd\.png: it .*{words}\. M"
    with pytest.raises(errors.DataError, match=expected):
        load.load(photos, None, (16, 16, 3))
    if kind != "folder":
        read = image_files.read_images(photos / "a", (16, 16, 3))
        assert len(read.paths) == 20
        (left_out,) = read.left_out
        assert left_out.startswith(f"{photos}/a/odd.png cannot be used: it ")


def test_a_pipe_without_a_suffix_is_not_looked_into(tmp_path):
    fill(tmp_path, {"a.png": png(noise(16, 16))})
    os.mkfifo(tmp_path / "pipe")
    read = image_files.read_images(tmp_path, (16, 16, 3))
    assert (read.paths, read.left_out) == ([tmp_path / "a.png"], [])


def test_a_training_names_the_image(refused, here):
    photos = {**classes({"a": 6, "b": 6}), "b/7.png": b"", "a/8.png": HUGE}
    fill(here / "photos", photos)
    error = refused(
        *(1, "train", "--config=mnist_mlp_5x256", "--data=photos"),
        "--config.train.batch_size=4",
    )
    assert (
        "2 of 14 images cannot be used: photos/a/8.png: it has 30000 x 30000" in error
    )
    assert "photos/b/7.png: the file is empty" in error


def test_a_prediction_names_the_image(refused, here):
    np.save(here / "array.npy", np.zeros(3))
    (here / "huge.png").write_bytes(HUGE)
    model = "--model=mnist_mlp_8x128", "--weights=mnist"
    for name, words in {
        "array.npy": "array.npy cannot be used: it is neither JPEG nor PNG",
        "huge.png": "huge.png cannot be used: it has 30000 x 30000 pixels; usable",
    }.items():
        assert words in refused(1, "predict", *model, name)
    assert "no.png does not exist" in refused(2, "predict", *model, "no.png")
