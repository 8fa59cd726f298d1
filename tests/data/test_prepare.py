"""Preparation of data sets: small JPEGs, their mean, and errors for bad images."""

import dataclasses
import io
import json
import os

import numpy as np
import pytest
import tensorflow as tf
from image_files import CMYK, classes, fill, jpeg, jpeg_of, noise, png, write_imagenet
from PIL import Image

from elu_zoo import errors
from elu_zoo.data import decoding, imagenet, prepare, records, statistics
from elu_zoo.layers import statistics_file

SIDE = 16
COUNTS = {"train": {"b": 6, "a": 9}, "val": {"a": 4, "b": 5}}


def smooth(seed, height=20, width=24):
    """Returns an image that JPEG hardly changes."""
    colours = np.random.default_rng(seed).uniform(40, 180, (2, 3))
    down, across = np.ogrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    weights = ((down + across) / 2)[..., None]
    return (colours[0] * weights + colours[1] * (1 - weights)).astype("uint8")


def pictures(counts):
    paths = [f"{name}/{i:02}.png" for name, n in counts.items() for i in range(n)]
    return {path: png(smooth(seed)) for seed, path in enumerate(paths)}


@pytest.fixture
def flat(tmp_path):
    """Twenty images of two classes, without splits."""
    folder = fill(tmp_path / "flat", pictures({"b": 6, "a": 14}))
    (folder / "class_names.txt").write_text("b crane\na crane  bird\nc cow\n")
    return folder


def stored(folder):
    """Returns the examples of each split of a prepared folder."""
    splits = records.find(folder).splits
    return {name: split.read(range(len(split))) for name, split in splits.items()}


def means_of(folder):
    """Returns the stored mean image of a prepared folder, and the expected mean."""
    (path,) = folder.glob("*.npz")
    data = imagenet.load(folder, SIDE)
    assert path.name.startswith(f"{data.images}_mean-")
    train = data.train.examples.read(data.train.positions)
    decoded = [np.asarray(Image.open(io.BytesIO(x.image))) for x in train]
    return statistics_file.read_mean(path.stem), np.mean(decoded, 0, np.float64)


def test_a_plain_folder_is_resized_and_encoded(flat, tmp_path):
    output = tmp_path / "new" / "out"
    report = prepare.prepare(flat, str(output), image_size=SIDE)
    source, data = imagenet.load(flat, SIDE), imagenet.load(output, SIDE)
    assert (data.name, data.class_names) == ("flat", ("crane  bird", "crane"))
    assert (output / "class_names.txt").read_text() == "a\tcrane  bird\nb\tcrane\n"
    assert records.find(output).classes == ("a", "b")
    examples = stored(output)
    for name, split in (("train", source.train), ("validation", source.test)):
        expected = {
            "/".join(x.name.split("/")[-2:]): (x.label, x.image)
            for x in split.examples.read(split.positions)
        }
        assert {x.name for x in examples[name]} == expected.keys()
        for x in examples[name]:
            label, image = expected[x.name]
            assert x.label == label
            assert tf.io.extract_jpeg_shape(x.image).numpy().tolist() == [SIDE, SIDE, 3]
            small = tf.image.resize(tf.io.decode_png(image), (SIDE, SIDE))
            prepared = tf.io.decode_jpeg(x.image).numpy().astype(float)
            np.testing.assert_allclose(prepared, small, atol=12)
    names = [str(path) for path in sorted(flat.glob("*/*.png"))]
    order = [x.name for x in examples["train"]]
    assert len({name[0] for name in order[:9]}) == 2  # classes are mixed
    assert report.images == {"train": 18, "validation": 2}
    assert sorted(report.odd.pop("png, tiny")) == names
    assert (report.odd, report.bad) == ({}, [])


def test_two_preparations_are_equal(flat, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        prepare.prepare(flat, folder, image_size=SIDE)
    assert stored(first) == stored(second)
    assert imagenet.load(first, SIDE).images == imagenet.load(second, SIDE).images
    (mean,), (mean_again,) = (folder.glob("*.npz") for folder in (first, second))
    assert mean.name == mean_again.name


def _make_folder(path):
    contents = {}
    for split, counts in COUNTS.items():
        images = pictures(counts)
        contents.update({f"{split}/{name}": image for name, image in images.items()})
    return fill(path, contents)


def _make_records(path, file_format):
    rows = {
        split: [(k, image, "ab".index(k[0])) for k, image in pictures(counts).items()]
        for split, counts in zip(("train", "validation"), COUNTS.values(), strict=True)
    }
    rows["test"] = [("x.JPEG", jpeg(smooth(0)), -1)]
    return write_imagenet(path, rows, ["a", "b"], file_format=file_format)


@pytest.mark.parametrize(
    "make",
    [
        _make_folder,
        lambda path: _make_records(path, "tfrecord"),
        lambda path: _make_records(path, "array_record"),
    ],
    ids="folder tfrecord array_record".split(),
)
def test_the_validation_split_is_prepared_too(tmp_path, make):
    report = prepare.prepare(make(tmp_path / "in"), tmp_path / "out", image_size=SIDE)
    assert report.images == {"train": 15, "validation": 9}
    splits = stored(tmp_path / "out")
    assert list(splits) == ["train", "validation"]
    for examples, counts in zip(splits.values(), COUNTS.values(), strict=True):
        labels = {x.name: x.label for x in examples}
        assert labels == {name: "ab".index(name[0]) for name in pictures(counts)}
    data = imagenet.load(tmp_path / "out", SIDE)
    assert data.class_names == ("a", "b")
    assert [len(data.train), len(data.test)] == [15, 9]
    np.testing.assert_allclose(*means_of(tmp_path / "out"), rtol=1e-6)


@pytest.mark.parametrize("file_format", ["tfrecord", "array_record"])
def test_held_out_images_are_not_in_the_mean(tmp_path, file_format):
    rows = [(k, image, 0) for k, image in pictures({"a": 30}).items()]
    options = {"file_format": file_format}
    folder = write_imagenet(tmp_path / "in", {"train": rows}, ["a", "b"], **options)
    prepare.prepare(folder, tmp_path / "out", image_size=SIDE)
    data = imagenet.load(tmp_path / "out", SIDE)
    assert [len(data.train), len(data.test)] == [27, 3]
    np.testing.assert_allclose(*means_of(tmp_path / "out"), rtol=1e-6)


def test_the_mean_is_computed_from_the_stored_images(flat, tmp_path, monkeypatch):
    prepare.prepare(flat, tmp_path / "out", image_size=SIDE, quality=30)
    np.testing.assert_allclose(*means_of(tmp_path / "out"), rtol=1e-6)
    data = imagenet.load(tmp_path / "out", SIDE)
    expected = decoding.mean_image(data.train, classes=data.num_classes)
    monkeypatch.setattr(decoding, "decode_all", lambda *_: pytest.fail("decoded again"))
    mean = statistics_file.read_mean(statistics.find_encoded_mean(data))
    np.testing.assert_allclose(mean, expected, rtol=1e-6)


def test_a_higher_quality_makes_larger_files(flat, tmp_path):
    sizes = []
    for quality in (0, 50, 100):
        folder = tmp_path / str(quality)
        prepare.prepare(flat, folder, image_size=SIDE, quality=quality)
        sizes.append(sum(len(x.image) for x in stored(folder)["train"]))
    assert sizes == sorted(set(sizes))


UNUSUAL = {
    "b/cmyk.jpg": CMYK,
    "b/grey.jpg": jpeg(noise(40, 40, channels=1)),
    "b/tiny.jpg": jpeg(noise(40, 9)),
    "b/usual.jpg": jpeg(noise(40, 40)),
}
BAD = {
    "a/empty.jpg": b"",
    "a/text.png": b"text",
    "b/huge.jpg": jpeg_of(30_000, 30_000),
    "b/cut.jpg": jpeg(noise(40, 40))[:-900],
}
REASONS = {
    "a/empty.jpg": "the file is empty",
    "a/text.png": "it is text; expected PNG or JPEG",
    "b/huge.jpg": "it has 30000 x 30000 pixels; expected at least ",
    "b/cut.jpg": "the file is damaged or cut off",
}


def test_bad_images_are_left_out_and_unusual_images_are_reported(flat, tmp_path):
    fill(flat, UNUSUAL | BAD)
    out = tmp_path / "out"
    report = prepare.prepare(flat, out, image_size=SIDE, max_bad_examples=4)
    assert json.loads((out / "report.json").read_text()) == json.loads(
        json.dumps(dataclasses.asdict(report))
    )
    assert sum(report.images.values()) == 24
    assert len(report.odd.pop("png, tiny")) == 20
    unusual = {
        kinds: [str(flat / f"b/{kinds.split(',')[0]}.jpg")]
        for kinds in ("cmyk, tiny", "grey", "tiny")
    }
    assert report.odd == unusual
    assert {name for name, _ in report.bad} == {str(flat / name) for name in BAD}
    for name, reason in report.bad:
        assert reason.startswith(REASONS[name.removeprefix(f"{flat}/")])
    examples = {x.name: x.label for split in stored(out).values() for x in split}
    assert examples == {
        path: "ab".index(path[0]) for path in (*pictures({"b": 6, "a": 14}), *UNUSUAL)
    }
    assert {name: len(split) for name, split in stored(out).items()} == report.images
    np.testing.assert_allclose(*means_of(out), rtol=1e-6)


@pytest.mark.parametrize("most", [0, 3])
def test_too_many_bad_images_are_refused(flat, tmp_path, most):
    fill(flat, BAD)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(errors.DataError) as caught:
        prepare.prepare(flat, tmp_path / "out", image_size=SIDE, max_bad_examples=most)
    text = str(caught.value)
    start = f"{most + 1} images cannot be used, but max_bad_examples is {most}. The "
    assert text.startswith(start)
    reported = [name for name in BAD if f"{flat / name}: {REASONS[name]}" in text]
    assert len(reported) == most + 1
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_that_exists_is_refused(flat, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(errors.UsageError, match=f"{output} exists already"):
        prepare.prepare(flat, output, image_size=SIDE)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "received"),
    [
        ({"image_size": 0}, "0, 85, 0"),
        ({"quality": -1}, "256, -1, 0"),
        ({"quality": 101}, "256, 101, 0"),
        ({"max_bad_examples": -1}, "256, 85, -1"),
    ],
)
def test_arguments_out_of_range_are_refused(tmp_path, arguments, received):
    with pytest.raises(errors.UsageError, match=rf"Received: {received}\.$"):
        prepare.prepare(tmp_path, tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_usable_images_is_refused(tmp_path):
    folder = fill(tmp_path / "empty", {f"{name}/1.jpg": b"" for name in "abc"})
    with pytest.raises(errors.DataError, match="There are no images to train on"):
        prepare.prepare(folder, tmp_path / "out", image_size=SIDE, max_bad_examples=9)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_that_vanishes_leaves_no_output(flat, tmp_path, monkeypatch):
    decode_all = decoding.decode_all

    def decode_too_late(*arguments):
        (flat / "a/05.png").unlink(missing_ok=True)
        return decode_all(*arguments)

    monkeypatch.setattr(decoding, "decode_all", decode_too_late)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(errors.DataError, match=r"Cannot read .*/a/05\.png"):
        prepare.prepare(flat, tmp_path / "out", image_size=SIDE)
    assert sorted(tmp_path.iterdir()) == before


def test_a_full_disk_leaves_no_output(flat, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(statistics_file, "write_mean", full)
    before = sorted(tmp_path.iterdir())
    message = f"{tmp_path}/out cannot be written: No space left on device"
    with pytest.raises(errors.ResourceError, match=message):
        prepare.prepare(flat, tmp_path / "out", image_size=SIDE)
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_name_that_is_not_utf8_is_replaced(tmp_path):
    folder = fill(tmp_path / "in", classes({"a": 2, "b": 2}, SIDE))
    os.rename(folder / "a/00.png", os.fsencode(folder / "a") + b"/\xff.png")
    prepare.prepare(folder, tmp_path / "out", image_size=SIDE)
    names = {x.name for examples in stored(tmp_path / "out").values() for x in examples}
    assert names == {"a/?.png", "a/01.png", "b/00.png", "b/01.png"}


@pytest.mark.parametrize("names", [("a b", "a c"), ("Käfer", "猫")])
def test_class_names_may_have_blanks_and_any_letters(tmp_path, names):
    folder = fill(tmp_path / "in", classes(dict.fromkeys(names, 5), SIDE))
    prepare.prepare(folder, tmp_path / "out", image_size=SIDE)
    data = imagenet.load(tmp_path / "out", SIDE)
    assert data.class_names == tuple(sorted(names))
    examples = {x.name[:-7]: x.label for x in stored(tmp_path / "out")["train"]}
    assert examples == {name: i for i, name in enumerate(sorted(names))}
