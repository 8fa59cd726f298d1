import dataclasses
import os
import threading

import numpy as np
import pytest
from image_files import CMYK, classes, fill, jpeg, jpeg_of, noise, png

from elu_zoo import errors
from elu_zoo.data import folder as image_folder
from elu_zoo.data import survey
from elu_zoo.data.encoded import EncodedSplit, Example
from elu_zoo.data.images import decode_checked

SIDE, P = 16, np.arange(12)
SHAPE = SIDE, SIDE, 3


def reading(*images):
    """What reads each of these files."""
    return [
        lambda i=i, image=image: Example(f"{i}", image, i % 3)
        for i, image in enumerate(images)
    ]


def of_folder(folder):
    examples = image_folder.find(folder).splits["train"]
    return EncodedSplit(examples, np.arange(len(examples)), SIDE)


@pytest.mark.parametrize("cores", [1, 3, None])
def test_sees_every_image_in_order(monkeypatch, cores):
    monkeypatch.setattr(survey.os, "cpu_count", lambda: cores)
    images = [noise(SIDE, SIDE, seed) for seed in range(60)]
    seen = list(survey.look(reading(*map(png, images)), SHAPE))
    assert [x.name for x in seen] == [str(i) for i in range(60)]
    assert [x.label for x in seen] == [i % 3 for i in range(60)]
    np.testing.assert_array_equal([x.pixels for x in seen], images)
    assert all((x.oddity, x.made) == ("png, tiny", None) for x in seen)


def test_oddities_and_reasons():
    images = (CMYK, jpeg(noise(40, 40)), b"", jpeg(noise(9, 40)), b"text")
    images += (png(noise(40, 40)), jpeg(noise(40, 40, channels=1)))
    images += (jpeg_of(30_000, 30_000), jpeg(noise(7, 40)))
    seen = list(survey.look(reading(*images), SHAPE))
    kinds = ["cmyk, tiny", "", None, "tiny", None, "png", "grey", None, None]
    assert [None if x.pixels is None else x.oddity for x in seen] == kinds
    reasons = [x.oddity for x in seen if x.pixels is None]
    assert reasons[:2] == ["the file is empty", "it is text; expected PNG or JPEG"]
    assert [x.split(";")[0] for x in reasons[2:]] == [
        "it has 30000 x 30000 pixels",
        "it has 7 x 40 pixels",
    ]


def test_makes_something_of_good_images_on_the_same_threads():
    threads = set()

    def make(image):
        threads.add(threading.current_thread())
        return int(image.sum())

    image = noise(SIDE, SIDE)
    seen = list(survey.look(reading(png(image), b"text"), SHAPE, make))
    assert [x.made for x in seen] == [int(image.sum()), None]
    assert threading.current_thread() not in threads and len(threads) == 1


def test_says_how_far_it_is(monkeypatch, caplog):
    monkeypatch.setattr(survey, "_LOGGED", 3)
    caplog.set_level("INFO", logger="absl")
    list(survey.look(reading(*[png(noise(SIDE, SIDE))] * 7), SHAPE))
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Looked at 3 images.", "Looked at 6 images."]


def test_looks_only_a_few_images_ahead(monkeypatch):
    monkeypatch.setattr(survey.os, "cpu_count", lambda: 2)
    asked, image = [], png(noise(SIDE, SIDE))

    def read_each():
        for i in range(500):
            asked.append(i)
            yield lambda i=i: Example(f"{i}", image, 0)

    looking = survey.look(read_each(), SHAPE)
    assert next(looking).name == "0"
    assert len(asked) < 50
    looking.close()
    assert len(asked) < 50


def test_files_that_cannot_be_read_end_it(tmp_path):
    split = of_folder(fill(tmp_path, classes({"a": 4}, SIDE)))
    (tmp_path / "a/02.png").unlink()
    looking = survey.look(survey.read_each(split.examples, split.positions), SHAPE)
    assert [next(looking).name[-6:-4] for _ in range(2)] == ["00", "01"]
    with pytest.raises(errors.DataError, match=r"Cannot read .*/a/02\.png"):
        next(looking)


def test_special_files_are_counted_and_named(tmp_path):
    split = of_folder(fill(tmp_path, classes({"a": 4}, SIDE)))
    (tmp_path / "a/02.png").unlink()
    os.mkfifo(tmp_path / "a/02.png")
    reason = "it is not a regular file: it is a named pipe"
    with pytest.raises(errors.DataError, match=rf"^1 of 4 .*/a/02\.png: {reason}\. M"):
        survey.mean_image(split, classes=2)
    with pytest.raises(errors.DataError, match=rf"/a/02\.png cannot be used: {reason}"):
        list(split.parts(2))


def test_reads_the_splits_own_positions_in_order(tmp_path):
    split = of_folder(fill(tmp_path, classes({"a": 2, "b": 2}, SIDE)))
    chosen = EncodedSplit(split.examples, np.array([3, 0]), SIDE)
    examples = [read() for read in survey.read_each(chosen.examples, chosen.positions)]
    assert [x.name for x in examples] == [
        str(tmp_path / "b/01.png"),
        str(tmp_path / "a/00.png"),
    ]
    assert [x.label for x in examples] == [1, 0]


def test_the_mean_is_exact_whatever_the_order():
    images = [noise(3, 5, seed) for seed in range(50)] + [np.full((3, 5, 3), 255, "u1")]
    means = []
    for order in (images, images[::-1]):
        mean = survey.Mean()
        for image in order:
            mean.add(image)
        means.append(mean.value())
    assert means[0].dtype == np.float64
    np.testing.assert_array_equal(*means)
    np.testing.assert_allclose(means[0], np.mean(images, 0, np.float64), rtol=1e-15)


def test_the_mean_of_a_split(tmp_path):
    split = of_folder(fill(tmp_path, classes({"a": 5, "b": 30}, SIDE)))
    images = [noise(SIDE, SIDE, seed) for seed in range(35)]
    expected = np.mean(images, 0, np.float64)
    np.testing.assert_allclose(
        survey.mean_image(split, classes=2), expected, rtol=1e-15
    )
    part = survey.mean_image(split.first(7), classes=2)
    np.testing.assert_allclose(part, np.mean(images[:7], 0, np.float64), rtol=1e-15)


def test_other_splits_are_looked_at_as_well(tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    images = {f"a/{i}.jpg": jpeg(noise(40, 40, i)) for i in range(4)}
    images |= {f"a/{i}.jpg": jpeg(noise(20, 40, i)) for i in range(4, 11)}
    images |= {"b/0.jpg": CMYK}
    whole = of_folder(fill(tmp_path, images))
    # By name: 0, 1, 10, 2, 3, ..., 9 of a, and one of b.
    paths = whole.examples.paths
    assert paths[2] == "a/10.jpg"
    first, other = (dataclasses.replace(whole, positions=p) for p in (P[:5], P[5:]))
    looked = [decode_checked(images[path], (SIDE, SIDE, 3))[0] for path in paths[:5]]
    expected = np.mean(looked, 0, np.float64)
    np.testing.assert_allclose(
        survey.mean_image(first, other, classes=2), expected, rtol=1e-15
    )
    seven = "; ".join(f"{tmp_path}/a/{i}.jpg" for i in (10, 4, 5, 6, 7))
    assert f"7 images are tiny: {seven}; and 2 more\n" in caplog.text
    assert f"1 images are cmyk, tiny: {tmp_path}/b/0.jpg\n" in caplog.text
    (tmp_path / "b/0.jpg").write_bytes(b"")
    with pytest.raises(errors.DataError, match=r"^1 of 12 images .*/b/0\.jpg: the f"):
        survey.mean_image(first, other, classes=2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            [3],
            r"^1 of 9 images cannot be used: {0}/a/03\.png: the file is empty\. Mend",
        ),
        (
            [2, 5],
            r"^2 of 9 images .*: {0}/a/02\.png: the file is empty; {0}/a/05\.png: the "
            r"file is empty\. Mend or delete them. tools/prepare_data\.py --max_bad_ex",
        ),
        (
            range(1, 6),
            r"^5 of 9 images [^;]*a/01.*a/02.*a/03.*a/04.*a/05\S+ the \w+ is",
        ),
        (range(1, 8), r"^7 of 9 images .*/a/05\.png: the file is empty; and 2 more\. "),
        (range(9), r"^9 of 9 images .*/a/04\.png: the file is empty; and 4 more\. "),
    ],
)
def test_bad_images_are_counted_and_named(tmp_path, bad, message):
    images = classes({"a": 9}, SIDE)
    images.update({f"a/{i:02}.png": b"" for i in bad})
    split = of_folder(fill(tmp_path, images))
    with pytest.raises(errors.DataError, match=message.format(tmp_path)) as caught:
        survey.mean_image(split, classes=2)
    assert str(caught.value).count("is empty") == min(5, len(bad))


def test_bad_labels_are_counted_and_named(tmp_path):
    split = of_folder(fill(tmp_path, classes({"a": 2, "b": 3, "c": 1}, SIDE)))
    assert survey.mean_image(split, classes=3).shape == SHAPE
    message = r"^1 of 6 images .*/c/00\.png: its label is 2, not one of 0\.\.1\. Mend"
    with pytest.raises(errors.DataError, match=message):
        survey.mean_image(split, classes=2)
