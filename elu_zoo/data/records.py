"""Image data sets in ArrayRecord files of tensorflow-datasets, read by position.

ArrayRecord is the only format of tensorflow-datasets that has an index;
tools/prepare_data.py converts other formats.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_datasets as tfds

from elu_zoo import errors, files
from elu_zoo.data import class_names, damage
from elu_zoo.data.encoded import EncodedImages, Example

INFO = "dataset_info.json"
_NO_NAME = "an image"  # name of an example without a file name
_SHARD = 8192  # examples in a file, 128 MB for prepared ImageNet
_VERSION = "1.0.0"


@dataclasses.dataclass(frozen=True, eq=False)
class RecordsOfSplit:
    """The records of one split; an `encoded.Examples`.

    Args:
        folder: the folder of the data set.
        split: name of the split.
    """

    folder: Path
    split: str

    def __len__(self) -> int:
        return len(self._source)

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns the examples at these positions; see `encoded.Examples`."""
        try:
            records = self._source.__getitems__([int(p) for p in positions])
            return [_parse(record) for record in records]
        # The reader raises errors of many types for damaged files.
        except Exception as error:
            raise _unreadable(self.folder, self.split, error) from error

    @functools.cached_property
    def _source(self) -> Any:
        method = tfds.core.decode.DeserializeMethod.RAW_BYTES
        builder = tfds.builder_from_directory(self.folder)
        return builder.as_data_source(self.split, deserialize_method=method)


def _parse(record: bytes) -> Example:
    feature = tf.train.Example.FromString(record).features.feature
    image = feature["image"].bytes_list.value[0]
    label = feature["label"].int64_list.value[0]
    names = feature["file_name"].bytes_list.value
    return Example(names[0].decode() if names else _NO_NAME, image, label)


def _unreadable(folder: Path, split: str, error: Exception) -> errors.DataError:
    return errors.DataError(
        f"Cannot read {split} in {folder}: {damage.describe(folder, error, split)} "
        f"Delete {folder} and prepare the data set again."
    )


def find(folder: Path) -> EncodedImages:
    """Opens the data set in a folder that has the file `INFO`.

    The fingerprint of the data set is a hash of this file.
    """
    try:
        files.check_files(folder)
        info = tfds.builder_from_directory(folder).info
        is_indexed = info.file_format.value == "array_record"
        features = info.features
        classes = tuple(features["label"].names)
        has_images = isinstance(features["image"], tfds.features.Image)
    # TFDS raises errors of many types for damaged metadata.
    except Exception as error:
        raise errors.DataError(
            f"Cannot read the data set in {folder}: {type(error).__name__}: "
            f"{str(error).rstrip('.')}."
        ) from error
    if not has_images:
        raise errors.DataError(f"The data set in {folder} does not hold images.")
    return EncodedImages(
        name=info.name,
        fingerprint=files.sha256(files.read(folder / INFO))[:8],
        classes=classes,
        class_names=class_names.read(folder, classes),
        splits={split: RecordsOfSplit(folder, split) for split in info.splits},
        is_indexed=is_indexed,
    )


def read_sequentially(folder: Path, split: str) -> Iterator[Example]:
    """Yields all examples of a split that is not indexed, in a fixed order."""
    try:
        builder = tfds.builder_from_directory(folder)
        skip = {"image": tfds.decode.SkipDecoding()}
        options = tfds.ReadConfig(try_autocache=False)
        dataset = builder.as_dataset(split=split, decoders=skip, read_config=options)
        for example in tfds.as_numpy(dataset):
            name = example["file_name"].decode() if "file_name" in example else _NO_NAME
            yield Example(name, example["image"], int(example["label"]))
    # TFDS raises errors of many types for damaged records.
    except Exception as error:
        raise _unreadable(folder, split, error) from error


def write(
    folder: Path, name: str, classes: Sequence[str], splits: dict[str, Iterable[Example]]
) -> None:
    """Writes a data set that `find` and tensorflow-datasets read.

    Args:
        folder: an empty folder.
        name: name of the data set.
        classes: name of each label.
        splits: examples of each split, with images encoded as JPEG.
    """
    features = tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(encoding_format="jpeg"),
            "label": tfds.features.ClassLabel(names=list(classes)),
            "file_name": tfds.features.Text(),
        }
    )
    identity = tfds.core.dataset_info.DatasetIdentity(
        name=name,
        version=tfds.core.Version(_VERSION),
        data_dir=os.path.abspath(folder),
        module_name="elu_zoo",
    )
    information = tfds.core.DatasetInfo(
        builder=identity,
        description="Images resized and encoded again by elu_zoo's prepare_data.",
        features=features,
    )
    writer = tfds.core.SequentialWriter(
        information, max_examples_per_shard=_SHARD, file_format="array_record"
    )
    writer.initialize_splits(list(splits))
    for split, examples in splits.items():
        rows = ({"file_name": x.name, "image": x.image, "label": x.label} for x in examples)
        writer.add_examples({split: rows})
    writer.close_all()
