"""Image data sets in ArrayRecord files of tensorflow-datasets, read by position.

ArrayRecord is the only format of tensorflow-datasets that has an index.
"""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_datasets as tfds

from elu_zoo import errors, files
from elu_zoo.data import class_names
from elu_zoo.data.encoded import EncodedImages, Example

INFO = "dataset_info.json"


@dataclasses.dataclass(frozen=True, eq=False)
class RecordsOfSplit:
    """The records of one split of the data set in a folder; an `encoded.Examples`."""

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
            raise errors.DataError(
                f"Cannot read {self.split} in {self.folder}: {type(error).__name__}: "
                f"{errors.graph_reason(str(error))}. If you may read its files and they fit into "
                "memory, delete the folder and prepare it again."
            ) from error

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
    return Example(names[0].decode() if names else "an image", image, label)


def find(folder: Path) -> EncodedImages:
    """Opens the data set in a folder that has the file `INFO`, whose hash is the fingerprint."""
    try:
        info = tfds.builder_from_directory(folder).info
        classes = tuple(info.features["label"].names)
    # TFDS raises errors of many types for damaged metadata.
    except Exception as error:
        raise errors.DataError(
            f"Cannot read the data set in {folder}: {type(error).__name__}: "
            f"{str(error).rstrip('.')}. Prepare it again, or restore it."
        ) from error
    if info.file_format.value != "array_record":
        raise errors.DataError(
            f"The files of {folder} have no index of their examples; expected ArrayRecord "
            f"files. Convert them with `tfds convert_format --dataset_version_dir={folder} "
            "--out_file_format=array_record --out_dir=<new folder>` (needs apache-beam)."
        )
    return EncodedImages(
        name=info.name,
        fingerprint=files.sha256(files.read(folder / INFO))[:8],
        class_names=class_names.read(folder, classes),
        splits={split: RecordsOfSplit(folder, split) for split in info.splits},
    )
