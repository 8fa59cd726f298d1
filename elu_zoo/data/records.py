"""Image data sets in tensorflow-datasets' ArrayRecord files, read by position.

ArrayRecord is the only format of tensorflow-datasets that has an index;
tools/prepare_data.py converts the other formats.
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
from elu_zoo.data.encoded import Example

INFO = "dataset_info.json"
_SHARD = 8192  # examples in a file; 128 MB of prepared ImageNet
_VERSION = "1.0.0"


@dataclasses.dataclass(frozen=True, eq=False)
class RecordsOfSplit:
    """The records of one split.

    Args:
        folder: the folder of the data set.
        split: the split's name.
    """

    folder: Path
    split: str

    def __len__(self) -> int:
        return len(self._source)

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns the examples at these positions; see `encoded.Examples`."""
        try:
            records = self._source.__getitems__([int(p) for p in positions])
            return [self._parsed(record) for record in records]
        # What the reader raises for damaged files is open-ended.
        except Exception as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> errors.DataError:
        """Returns the DataError for an error of a reader."""
        return errors.DataError(
            f"Cannot read {self.split} in {self.folder}: "
            f"{damage.told(self.folder, error, self.split)} Delete {self.folder} and "
            "prepare the data set again."
        )

    @staticmethod
    def _parsed(record: bytes) -> Example:
        feature = tf.train.Example.FromString(record).features.feature
        image = feature["image"].bytes_list.value[0]
        label = feature["label"].int64_list.value[0]
        names = feature["file_name"].bytes_list.value
        return Example(names[0].decode() if names else "an image", image, label)

    @functools.cached_property
    def _source(self) -> Any:
        method = tfds.core.decode.DeserializeMethod.RAW_BYTES
        builder = tfds.builder_from_directory(self.folder)
        return builder.as_data_source(self.split, deserialize_method=method)


@dataclasses.dataclass(frozen=True, eq=False)
class Records:
    """A data set in the format of tensorflow-datasets.

    Args:
        name: the data set's name.
        fingerprint: hash of its description.
        classes: the name of each label.
        class_names: the name of each label for people, see `class_names.read`.
        splits: the records of each split; they can be read only where `indexed`.
        indexed: whether the files are ArrayRecord.
    """

    name: str
    fingerprint: str
    classes: tuple[str, ...]
    class_names: tuple[str, ...]
    splits: dict[str, RecordsOfSplit]
    indexed: bool


def find(folder: Path) -> Records:
    """Opens the data set in a folder that has a dataset_info.json.

    Raises:
        DataError: its description is damaged, or it has no images with labels.
    """
    try:
        info = tfds.builder_from_directory(folder).info
        indexed, features = info.file_format.value == "array_record", info.features
        classes = tuple(features["label"].names)
        is_of_images = isinstance(features["image"], tfds.features.Image)
    # What TFDS raises for damaged metadata is open-ended.
    except Exception as error:
        raise errors.DataError(
            f"Cannot read the data set in {folder}: {type(error).__name__}: "
            f"{str(error).rstrip('.')}."
        ) from error
    if not is_of_images:
        raise errors.DataError(f"The data set in {folder} is none of images.")
    return Records(
        name=info.name,
        fingerprint=files.sha256((folder / INFO).read_bytes())[:8],
        classes=classes,
        class_names=class_names.read(folder, classes),
        splits={split: RecordsOfSplit(folder, split) for split in info.splits},
        indexed=indexed,
    )


def read_through(folder: Path, split: str) -> Iterator[Example]:
    """Yields all examples of a split that is not indexed, in a fixed order.

    Raises:
        DataError: the files are damaged.
    """
    found = RecordsOfSplit(folder, split)
    try:
        builder = tfds.builder_from_directory(folder)
        skip = {"image": tfds.decode.SkipDecoding()}
        options = tfds.ReadConfig(try_autocache=False)
        dataset = builder.as_dataset(split=split, decoders=skip, read_config=options)
        for example in tfds.as_numpy(dataset):
            name = example.get("file_name", b"an image").decode()
            yield Example(name, example["image"], int(example["label"]))
    # What TFDS raises for damaged records is open-ended.
    except Exception as error:
        raise found.unreadable(error) from error


def write(
    folder: Path,
    name: str,
    classes: Sequence[str],
    splits: dict[str, Iterable[Sequence[Example]]],
) -> None:
    """Writes a data set that `find` and tensorflow-datasets read.

    Args:
        folder: an empty folder.
        name: name of the data set.
        classes: the name of each label.
        splits: examples of each split, in parts; their images are JPEG.
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
    for split, parts in splits.items():
        for part in parts:
            examples = [
                {"file_name": x.name, "image": x.image, "label": x.label} for x in part
            ]
            writer.add_examples({split: examples})
    writer.close_all()
