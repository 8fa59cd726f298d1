"""Preparation of a large data set: small JPEGs in an indexed file, for all runs."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from elu_zoo import errors, files
from elu_zoo.data import class_names, imagenet, images, records, survey
from elu_zoo.data.encoded import Example
from elu_zoo.data.folder import ImageFolder
from elu_zoo.data.records import Records
from elu_zoo.data.survey import Seen
from elu_zoo.layers import statistics_file

REPORT = "report.json"
_PART = 256  # images, which are written at once


@dataclasses.dataclass
class Report:
    """Report of a preparation; written beside the data.

    Attributes:
        images: number of images that were written, by split.
        odd: names of unusual images, by property; see `images.decode_checked`.
        bad: name of each image that was left out, and the reason.
    """

    images: dict[str, int]
    odd: dict[str, list[str]]
    bad: list[tuple[str, str]]


def prepare(
    folder: str | os.PathLike,
    output: str | os.PathLike,
    *,
    data_dir: str | None = None,
    image_size: int = 256,
    quality: int = 85,
    max_bad_examples: int = 0,
) -> Report:
    """Writes the images of a data set as small JPEGs into an indexed data set.

    Images are resized to `image_size` x `image_size` as in the paper (4.4), and the
    mean of the training images is computed, without the images that `imagenet.load`
    holds out of a data set that has no validation split.

    Args:
        folder: the folder of the images, see `imagenet.load`; one of
            tensorflow-datasets may be in any format.
        output: a new folder. It appears when it is complete.
        data_dir: see `imagenet.load`.
        image_size: height and width of the written images, in pixels.
        quality: quality of the JPEGs, 0 to 100; 85 gave 18 kB each for 200 photographs
            of 256 x 256 pixels.
        max_bad_examples: number of unusable images that may be left out.

    Raises:
        UsageError: the output exists already, or an argument is out of its range.
        DataError: there are no images, or too many unusable ones; the message names
            them.
        ResourceError: the output cannot be written.
    """
    if image_size < 1 or not 0 <= quality <= 100 or max_bad_examples < 0:
        raise errors.UsageError(
            "image_size is >= 1, quality in 0..100, max_bad_examples >= 0. Received: "
            f"{image_size}, {quality}, {max_bad_examples}."
        )
    found, splits = _find(folder, image_size, data_dir)
    mean, report = survey.Mean(), Report({}, {}, [])

    shape = (image_size, image_size, 3)

    def encode(image: np.ndarray) -> tuple[bytes, np.ndarray]:
        content = tf.io.encode_jpeg(image, quality=quality).numpy()
        return content, images.decode(tf.constant(content), shape).numpy()

    def written(split: str) -> Iterator[list[Example]]:
        part: list[Example] = []
        count = 0
        for seen in survey.look(splits[split], shape, encode):
            if not _usable(seen, report, max_bad_examples):
                continue
            image, as_read = seen.made
            if split == "train":
                mean.add(as_read)
            part.append(Example(_short(seen.name), image, seen.label))
            count += 1
            if len(part) == _PART:
                yield part
                part = []
        yield part
        report.images[split] = count

    def write(made: Path) -> None:
        records.write(made, found.name, found.classes, {s: written(s) for s in splits})
        image = mean.value()
        data = imagenet.data_of(records.find(made), image_size)
        if "validation" not in splits:  # a part of the written images is held out
            image = survey.mean_image(data.train, classes=data.num_classes)
        statistics_file.write_mean(made, data.images, image)
        _write_names(made, found)
        files.write_json(made / REPORT, dataclasses.asdict(report))

    try:
        with files.new_directory(Path(output).expanduser()) as made:
            write(made)
    except OSError as error:
        raise errors.ResourceError(f"{output} cannot be written: {error}.") from error
    return report


def _short(name: str) -> str:
    """Returns the last two parts of a file's path, as valid UTF-8."""
    return "/".join(Path(name).parts[-2:]).encode("utf-8", "replace").decode()


def _write_names(folder: Path, found: Records | ImageFolder) -> None:
    """Writes the names of classes for people beside the records."""
    named = zip(found.classes, found.class_names, strict=True)
    lines = "".join(f"{key}\t{name}\n" for key, name in named)
    files.write_bytes(folder / class_names.FILE, lines.encode())


def _find(
    folder: str | os.PathLike, image_size: int, data_dir: str | None
) -> tuple[Records | ImageFolder, dict[str, Iterable[Callable[[], Example]]]]:
    """Returns a data set, and functions that read the examples of each split."""
    path = imagenet.find_folder(folder, data_dir)
    found = imagenet.find(path)
    if isinstance(found, Records) and not found.indexed:
        return found, {n: _read(path, n) for n in imagenet.SPLITS if n in found.splits}
    data = imagenet.data_of(found, image_size)
    splits = zip(imagenet.SPLITS, (data.train, data.test), strict=True)
    return found, {
        name: survey.read_each(split.examples, split.positions)
        for name, split in splits
    }


def _read(path: Path, split: str) -> Iterator[Callable[[], Example]]:
    for example in records.read_through(path, split):
        yield lambda example=example: example


def _usable(seen: Seen, report: Report, most: int) -> bool:
    if seen.pixels is not None:
        if seen.oddity:
            report.odd.setdefault(seen.oddity, []).append(seen.name)
        return True
    report.bad.append((seen.name, seen.oddity))
    if len(report.bad) > most:
        named = "; ".join(f"{name}: {reason}" for name, reason in report.bad[-5:])
        raise errors.DataError(
            f"{len(report.bad)} images cannot be used, max_bad_examples is {most}. "
            f"The last ones are {named}."
        )
    return False
