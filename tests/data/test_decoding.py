"""Decoding of all images of a data set, and computation of their mean."""

import dataclasses
import os

import numpy as np
import pytest
from image_files import CMYK, classes, fill, jpeg, noise, png

from elu_zoo import errors
from elu_zoo.data import decoding
from elu_zoo.data import folder as image_folder
from elu_zoo.data.encoded import EncodedSplit, Example
from elu_zoo.data.images import decode_checked

SIDE = 16
SHAPE = SIDE, SIDE, 3


def readers_of(*images):
    """Returns, for each encoded image, a function that returns its example."""
    return [
        lambda i=i, image=image: Example(f"{i}", image, i % 3) for i, image in enumerate(images)
    ]


def split_of_folder(folder):
    examples = image_folder.find(folder).splits["train"]
    return EncodedSplit(examples, np.arange(len(examples)), SIDE)


@pytest.mark.parametrize("cores", [1, 3, None])
def test_images_keep_their_order_on_any_number_of_cores(monkeypatch, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    images = [noise(SIDE, SIDE, seed) for seed in range(60)]
    decoded = list(decoding.decode_all(readers_of(*map(png, images)), SHAPE))
    assert [x.name for x in decoded] == [str(i) for i in range(60)]
    assert [x.label for x in decoded] == [i % 3 for i in range(60)]
    np.testing.assert_array_equal([x.pixels for x in decoded], images)
    assert {x.problem for x in decoded} == {""}


def test_progress_is_logged(monkeypatch, caplog):
    monkeypatch.setattr(decoding, "_LOGGED", 3)
    caplog.set_level("INFO", logger="absl")
    list(decoding.decode_all(readers_of(*[png(noise(SIDE, SIDE))] * 7), SHAPE))
    assert caplog.messages == ["Decoded 3 images.", "Decoded 6 images."]


def test_only_a_few_images_are_decoded_ahead(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    requested, image = [], png(noise(SIDE, SIDE))

    def readers():
        for i in range(500):
            requested.append(i)
            yield lambda i=i: Example(f"{i}", image, 0)

    decoded = decoding.decode_all(readers(), SHAPE)
    assert next(decoded).name == "0"
    decoded.close()
    assert len(requested) < 50


def test_a_missing_file_ends_the_decoding(tmp_path):
    split = split_of_folder(fill(tmp_path, classes({"a": 4}, SIDE)))
    (tmp_path / "a/02.png").unlink()
    readers = decoding.readers(split.examples, [1, 0, 2])
    decoded = decoding.decode_all(readers, SHAPE)
    assert [next(decoded).name for _ in range(2)] == [
        str(tmp_path / "a/01.png"),
        str(tmp_path / "a/00.png"),
    ]
    with pytest.raises(errors.DataError, match=r"Cannot read .*/a/02\.png"):
        next(decoded)


def test_the_error_states_the_number_and_path_of_special_files(tmp_path):
    split = split_of_folder(fill(tmp_path, classes({"a": 4}, SIDE)))
    (tmp_path / "a/02.png").unlink()
    os.mkfifo(tmp_path / "a/02.png")
    reason = "it is not a regular file: it is a named pipe"
    with pytest.raises(errors.DataError, match=rf"^1 of 4 .*/a/02\.png: {reason}\. F"):
        decoding.mean_image(split, classes=2)
    with pytest.raises(errors.DataError, match=rf"/a/02\.png cannot be used: {reason}"):
        list(split.parts(2))


def test_other_splits_are_checked_but_not_in_the_mean(tmp_path):
    images = {f"a/{i}.jpg": jpeg(noise(40, 40, i)) for i in range(4)}
    images |= {f"a/{i}.jpg": jpeg(noise(20, 40, i)) for i in range(4, 11)}
    images |= {"b/0.jpg": CMYK}
    split = split_of_folder(fill(tmp_path, images))
    # The images of a are sorted by name: 0, 1, 10, 2, ..., 9. One image of b follows.
    paths = split.examples.paths
    assert paths[2] == "a/10.jpg"
    training = dataclasses.replace(split, positions=np.arange(5))
    held_out = dataclasses.replace(split, positions=np.arange(5, 12))
    decoded = [decode_checked(images[path], SHAPE) for path in paths[:5]]
    mean = decoding.mean_image(training, held_out, classes=2)
    np.testing.assert_allclose(mean, np.mean(decoded, 0, np.float64), rtol=1e-15)
    (tmp_path / "b/0.jpg").write_bytes(b"")
    with pytest.raises(errors.DataError, match=r"^1 of 12 images .*/b/0\.jpg: the f"):
        decoding.mean_image(training, held_out, classes=2)


@pytest.mark.parametrize(
    ("empty", "message"),  # "empty" has the numbers of empty files
    [
        (
            [2, 5],
            r"^2 of 9 images .*: {0}/a/02\.png: the file is empty; {0}/a/05\.png: the "
            r"file is empty\. Fix or delete them\.",
        ),
        (range(1, 8), r"^7 of 9 images .*/a/05\.png: the file is empty; and 2 more\. "),
    ],
)
def test_the_error_states_the_number_and_paths_of_bad_images(tmp_path, empty, message):
    images = classes({"a": 9}, SIDE)
    images.update({f"a/{i:02}.png": b"" for i in empty})
    split = split_of_folder(fill(tmp_path, images))
    with pytest.raises(errors.DataError, match=message.format(tmp_path)):
        decoding.mean_image(split, classes=2)


def test_the_error_states_the_number_and_paths_of_bad_labels(tmp_path):
    split = split_of_folder(fill(tmp_path, classes({"a": 2, "b": 3, "c": 1}, SIDE)))
    assert decoding.mean_image(split, classes=3).shape == SHAPE
    message = r"^1 of 6 images .*/c/00\.png: its label is 2, not one of 0\.\.1\. Fix"
    with pytest.raises(errors.DataError, match=message):
        decoding.mean_image(split, classes=2)
