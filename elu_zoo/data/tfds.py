"""Reading of data sets that tensorflow-datasets prepared, without downloads."""

import dataclasses
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from elu_zoo import errors
from elu_zoo.data import shapes
from elu_zoo.data.cache import Arrays
from elu_zoo.data.dataset import SPLIT_NAMES


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set on this machine that has not been read yet.

    `read` returns `<split>_images` uint8 `(n, height, width, channels)`, `<split>_labels`
    int64 `(n,)`, `class_names` and perhaps the `terms` of use.
    """

    version: str  # a part of the name of a cache entry
    files: tuple[Path, ...]  # which `read` reads
    read: Callable[[], Arrays]
    remedy: str  # a sentence that tells how to repair damaged files


def find(
    name: str,
    data_dir: str | Path | None,
    major: int | None = None,
    shape: shapes.Shape | None = None,
) -> Source:
    """Finds a data set with one image and one label per example.

    Args:
        name, data_dir: see `find_folder`.
        major: major version of a data set of the zoo; None for another data set.
        shape: `(height, width, channels)` to which the images are adapted; None keeps
            the shape of the images.
    """
    folder = find_folder(name, major, data_dir)
    command = _command(name, folder.parents[1 + name.count("/")])
    remedy = f"If you may read its files, delete {folder} and prepare it again with {command}."

    def read() -> Arrays:
        import tensorflow_datasets as tfds

        try:
            return _read(tfds.builder_from_directory(folder), shape, of_zoo=major is not None)
        except (errors.EluZooError, MemoryError):
            raise
        # TFDS raises errors of many types for damaged records and metadata, such as
        # OpError, ParseError, ValueError and AssertionError.
        except Exception as error:
            reason = f"{type(error).__name__}: {errors.graph_reason(str(error))}. {remedy}"
            if isinstance(error, ModuleNotFoundError):  # The cache is read without TensorFlow.
                reason = f"{error}. Load the data set once where TensorFlow is installed."
            raise errors.DataError(f"Cannot read the data set in {folder}: {reason}") from error

    return Source(folder.name, tuple(filter(Path.is_file, folder.iterdir())), read, remedy)


def find_folder(name: str, major: int | None, data_dir: str | Path | None) -> Path:
    """Returns the folder of a data set's newest version `major.*.*`.

    Args:
        name: name in tensorflow-datasets, with the config if it has one.
        major: accepted major version; None accepts any.
        data_dir: folder of prepared data sets. None stands for $TFDS_DATA_DIR, or for
            ~/tensorflow_datasets if this variable is not set.
    """
    if data_dir is None:
        data_dir = os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    root = Path(data_dir).expanduser()
    versions = f"{'*' if major is None else major}.*.*"
    prepared = {
        tuple(map(int, info.parent.name.split("."))): info.parent
        for info in (root / name).glob(f"{versions}/dataset_info.json")
        if re.fullmatch(r"\d+\.\d+\.\d+", info.parent.name)
    }
    if not prepared:
        raise errors.DataError(
            f"Data set {name!r} is not prepared: there is no {root}/{name}/{versions}/"
            f"dataset_info.json. Nothing is downloaded automatically. Run {_command(name, root)} "
            "on a machine with a network, and copy the output to data_dir or $TFDS_DATA_DIR."
        )
    return prepared[max(prepared)]


def _command(name: str, root: Path) -> str:
    return f"`tfds build {name} --data_dir={shlex.quote(str(root))}`"


def _read(builder: Any, shape: shapes.Shape | None, of_zoo: bool) -> Arrays:
    """Returns the arrays of all splits, see `Source.read`."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    info, features = builder.info, builder.info.features
    image = _feature(info, "image", tfds.features.Image)
    # The zoo's sets are PNG without transparency, for which all decoders agree.
    decoders = None if of_zoo else {image: tfds.decode.SkipDecoding()}
    label = _feature(info, "label", tfds.features.ClassLabel)
    height, width, channels = features[image].shape
    target = shape or (height, width, 1 if channels == 1 else 3)
    if None in target:
        raise errors.UsageError(
            f"The images of {info.full_name} differ in shape: {target}. Set image_shape to "
            "(height, width, channels) to resize the images. Received: None."
        )
    named = {name: [x for x in names if x in info.splits] for name, names in SPLIT_NAMES.items()}
    used = {name: found[0] for name, found in named.items() if found}
    if "train" not in used:
        raise errors.DataError(
            f"{info.full_name} has no split 'train'. It has {', '.join(info.splits)}."
        )
    if unread := {*info.splits} - {*used.values()}:
        logging.warning("%s: splits not read: %s.", info.full_name, errors.listed(sorted(unread)))
    counts = {name: info.splits[split].num_examples for name, split in used.items()}
    shapes.check_memory(sum(counts.values()), target)

    @tf.autograph.experimental.do_not_convert  # AutoGraph would change the messages of errors.
    def select(example):
        pixels = example[image] if decoders is None else _decode(example[image], target)
        return {"images": pixels, "labels": example[label]}

    names, terms = features[label].names, _terms(info)
    arrays = {"class_names": np.array(names), "terms": np.array(terms)}
    for name, split in used.items():
        if not counts[name]:
            raise errors.DataError(f"The split {split!r} of {info.full_name} has no examples.")
        config = {"read_config": tfds.ReadConfig(try_autocache=False), "decoders": decoders}
        dataset = builder.as_dataset(split=split, shuffle_files=False, **config)
        dataset = dataset.map(select, num_parallel_calls=os.cpu_count() or 1, deterministic=True)
        batches = list(tfds.as_numpy(dataset.batch(1000)))
        for array in dataset.element_spec:
            arrays[f"{name}_{array}"] = np.concatenate([batch[array] for batch in batches])
    return arrays


def _decode(encoded: Any, shape: shapes.Shape) -> Any:
    """Decodes PNG and JPEG as predictions do, and what else TensorFlow can decode."""
    import tensorflow as tf

    from elu_zoo.data import formats, images

    def other() -> Any:
        pixels = tf.io.decode_image(encoded, channels=3, expand_animations=False)
        return images.adapt(tf.ensure_shape(pixels, (None, None, 3)), shape)

    start = tf.strings.substr(encoded, 0, 3)
    is_usual = (start == formats.JPEG) | (start == formats.PNG[:3])
    return tf.cond(is_usual, lambda: images.decode(encoded, shape), other)


def _feature(info: Any, name: str, kind: type) -> str:
    """Returns the feature of a kind with this name, or the only one of this kind."""
    found = [key for key, feature in info.features.items() if isinstance(feature, kind)]
    chosen = name if name in found else found[0] if len(found) == 1 else None
    if chosen is None or (name == "image" and info.features[chosen].np_dtype != np.uint8):
        raise errors.DataError(
            f"{info.full_name} does not have one 8-bit image and one ClassLabel per example, or "
            f"several with one named {name}. Its features are: {', '.join(info.features)}. Write "
            "its images and labels to an .npz file."
        )
    return chosen


def _terms(info: Any) -> str:
    licence = info.redistribution_info.license.strip()
    page = f" See {info.homepage}." if info.homepage else ""
    return f"{info.full_name}: {licence or 'terms unknown to tensorflow-datasets'}.{page}"
