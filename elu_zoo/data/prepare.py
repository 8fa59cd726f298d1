"""Preparation of a large data set as small JPEGs in an indexed file."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from elu_zoo import errors, files
from elu_zoo.data import class_names, decoding, imagenet, images, records
from elu_zoo.data.encoded import EncodedImages, Example
from elu_zoo.layers import statistics_file

REPORT = "report.json"


@dataclasses.dataclass
class Report:
    """Report of a preparation, written as report.json to the output folder.

    Attributes:
        images: number of written images, by split.
        odd: names of unusual images, by their properties; see `images.decode_checked`.
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

    Images are resized to `image_size` x `image_size` as in the paper (section 4.4). The
    mean of the training images is written too. If the data set has no validation split,
    the images that `imagenet.load` holds out do not count in the mean.

    Args:
        folder: the folder of the images, see `imagenet.load`. A data set of
            tensorflow-datasets may be in any format.
        output: a folder that does not exist yet. The folder is created under this name
            when all files are complete.
        data_dir: see `tfds.find_folder`.
        image_size: height and width of the written images, in pixels.
        quality: quality of the JPEGs, 0 to 100. At quality 85, 200 photographs of
            256 x 256 pixels had a mean size of 18 kB.
        max_bad_examples: number of unusable images that may be left out.
    """
    if image_size < 1 or not 0 <= quality <= 100 or max_bad_examples < 0:
        raise errors.UsageError(
            "image_size must be >= 1, quality must be in 0..100, and max_bad_examples "
            f"must be >= 0. Received: {image_size}, {quality}, {max_bad_examples}."
        )
    source, splits = _find(folder, image_size, data_dir)
    mean, report = decoding.ExactMean(), Report({}, {}, [])
    shape = (image_size, image_size, 3)

    def encode(image: np.ndarray) -> tuple[bytes, np.ndarray]:
        content = tf.io.encode_jpeg(image, quality=quality).numpy()
        return content, images.decode(tf.constant(content), shape).numpy()

    def encode_split(split: str) -> Iterator[Example]:
        report.images[split] = 0
        for decoded in decoding.decode_all(splits[split], shape, encode):
            if decoded.problem:
                _leave_out(decoded, report, max_bad_examples)
                continue
            if decoded.unusual:
                report.odd.setdefault(decoded.unusual, []).append(decoded.name)
            content, pixels = decoded.processed
            if split == "train":
                mean.add(pixels)
            report.images[split] += 1
            yield Example(_short_name(decoded.name), content, decoded.label)

    def write(new_folder: Path) -> None:
        examples = {split: encode_split(split) for split in splits}
        records.write(new_folder, source.name, source.classes, examples)
        mean_image = mean.value()
        data = imagenet.shuffled(records.find(new_folder), image_size)
        if "validation" not in splits:  # Some written training images are held out.
            mean_image = decoding.mean_image(data.train, classes=data.num_classes)
        statistics_file.write_mean(new_folder, data.images, mean_image)
        named = zip(source.classes, source.class_names, strict=True)
        lines = "".join(f"{key}\t{name}\n" for key, name in named)
        files.write_bytes(new_folder / class_names.FILE, lines.encode())
        files.write_json(new_folder / REPORT, dataclasses.asdict(report))

    try:
        with files.new_directory(Path(output).expanduser()) as new_folder:
            write(new_folder)
    except OSError as error:
        raise errors.ResourceError(f"{output} cannot be written: {error}.") from error
    return report


def _find(
    folder: str | os.PathLike, image_size: int, data_dir: str | None
) -> tuple[EncodedImages, dict[str, Iterable[Callable[[], Example]]]]:
    """Returns a data set, and functions that read the examples of each split."""
    path = imagenet.find_folder(folder, data_dir)
    source = imagenet.find(path)
    if not source.is_indexed:
        names = [name for name in imagenet.SPLITS if name in source.splits]
        examples = {name: records.read_sequentially(path, name) for name in names}
        return source, {name: ((lambda x=x: x) for x in split) for name, split in examples.items()}
    data = imagenet.shuffled(source, image_size)
    splits = zip(imagenet.SPLITS, (data.train, data.test), strict=True)
    return source, {
        name: decoding.readers(split.examples, split.positions) for name, split in splits
    }


def _leave_out(image: decoding.DecodedImage, report: Report, limit: int) -> None:
    """Adds an unusable image to the report; raises `DataError` above the limit."""
    report.bad.append((image.name, image.problem))
    if len(report.bad) > limit:
        named = "; ".join(f"{name}: {reason}" for name, reason in report.bad[-5:])
        raise errors.DataError(
            f"{len(report.bad)} images cannot be used, but max_bad_examples is "
            f"{limit}. The last unusable images are {named}. Fix or delete these "
            "images, or set max_bad_examples to a larger number."
        )


def _short_name(name: str) -> str:
    """Returns the last two parts of a file's path, as valid UTF-8."""
    return "/".join(Path(name).parts[-2:]).encode("utf-8", "replace").decode()
