"""Location of damage in a data set that tensorflow-datasets prepared."""

import re
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from elu_zoo import files


def describe(folder: Path, error: Exception, *splits: str) -> str:
    """Returns a sentence that states the damaged file and record, or only the error.

    The errors of tensorflow-datasets state neither file nor record. This function reads
    the records again, without decoding, up to the damaged record.

    Args:
        folder: the folder of one version of the data set.
        error: the error of the reader.
        *splits: names of the splits to read.
    """
    import tensorflow_datasets as tfds

    fallback = f"{_summary(error)}."

    try:
        infos = tfds.builder_from_directory(folder).info.splits
        files = [
            (Path(path), length)
            for split in splits
            for path, length in zip(infos[split].filepaths, infos[split].shard_lengths, strict=True)
        ]
    # TFDS raises errors of many types for damaged metadata.
    except Exception:
        return fallback
    logging.info("Searching %d files in %s for the damaged file.", len(files), folder)
    for path, length in files:
        count = 0
        try:
            for _ in _records(path):
                count += 1
        # Readers raise errors of many types for damaged files.
        except Exception as error:
            return f"{path} cannot be read at record {count}: {_summary(error)}."
        if count != length:
            return f"{path} ends after {count} of {length} records."
    return fallback


def _summary(error: Exception) -> str:
    """Returns the type and the message of an error, without names of graph nodes."""
    text = str(getattr(error, "message", error))
    text = re.sub(r"\{\{.*?\}\} ?|\[Op:.*", "", text, flags=re.DOTALL)
    return f"{type(error).__name__}: {text.strip()}".rstrip(".: ")


def _records(path: Path) -> Iterator[bytes]:
    files.open_regular(path).close()  # raises a clear error, and never waits
    if "array_record" in path.name:
        from array_record.python import array_record_data_source

        with array_record_data_source.ArrayRecordDataSource([str(path)]) as source:
            for position in range(len(source)):
                yield source[position]
    else:
        import tensorflow as tf

        yield from tf.data.TFRecordDataset(str(path))
