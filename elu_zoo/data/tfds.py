"""Reading of data sets that tensorflow-datasets prepared, without downloads."""

import dataclasses
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from elu_zoo import errors, files
from elu_zoo.data import shapes, splits
from elu_zoo.data.cache import Arrays


@dataclasses.dataclass(frozen=True)
class Source:
    """A data set on this machine that has not been read yet.

    Args:
        version: version of the data set, which is part of the name of a cache entry.
        files: the files that `read` reads.
        read: returns `<split>_images` uint8 `(n, height, width, channels)`,
            `<split>_labels` int64 `(n,)` and `class_names`; raises DataError. If the
            labels are not the feature "label", `<split>_usual_labels` is this feature.
        remedy: a sentence that tells how to repair damaged files.
    """

    version: str
    files: tuple[Path, ...]
    read: Callable[[], Arrays]
    remedy: str


def find(name: str, major: int, data_dir: str | Path | None, label: str = "label") -> Source:
    """Finds the newest version `major.*.*` of a data set of the zoo.

    Args:
        name, major, data_dir: see `find_folder`.
        label: the feature that holds the class.
    """
    folder = find_folder(name, major, data_dir)
    return _source(name, folder, lambda builder: _read(builder, label))


def find_images(name: str, data_dir: str | Path | None, shape: shapes.Shape | None) -> Source:
    """Finds any data set with one image and one label per example.

    Args:
        name, data_dir: see `find_folder`.
        shape: `(height, width, channels)` to which the images are adapted; None keeps
            the shape of the images.

    Returns:
        A source whose `read` returns the splits train, validation and test, as far as
        the data set has these splits, and the `terms` of the data set.
    """
    folder = find_folder(name, None, data_dir)
    return _source(name, folder, lambda builder: _read_images(builder, shape))


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
        tuple(int(part) for part in info.parent.name.split(".")): info.parent
        for info in root.glob(f"{name}/{versions}/dataset_info.json")
        if re.fullmatch(r"\d+\.\d+\.\d+", info.parent.name)
    }
    if not prepared:
        raise errors.DataError(
            f"Data set {name!r} is not prepared: there is no "
            f"{root}/{name}/{versions}/dataset_info.json. Nothing is downloaded "
            f"automatically. Run {_command(name, root)} on a machine with a network, and "
            "copy the output to data_dir or $TFDS_DATA_DIR."
        )
    files.check_files(prepared[max(prepared)])
    return prepared[max(prepared)]


def _command(name: str, root: Path) -> str:
    return f"`tfds build {name} --data_dir={shlex.quote(str(root))}`"


def _source(name: str, folder: Path, read: Callable[[Any], Arrays]) -> Source:
    command = _command(name, folder.parents[1 + name.count("/")])
    remedy = f"Delete {folder} and prepare it again with {command}."

    def read_arrays() -> Arrays:
        import tensorflow_datasets as tfds

        try:
            return read(tfds.builder_from_directory(folder))
        except errors.EluZooError:
            raise
        except ModuleNotFoundError as error:
            raise errors.DataError(
                f"Cannot read the data set in {folder}: {error}. Load the data set once "
                "where TensorFlow is installed; later runs read the cache."
            ) from error
        # TFDS raises errors of many types for damaged records and metadata, such as
        # OpError, ParseError, ValueError and AssertionError.
        except Exception as error:
            reason = f"{type(error).__name__}: {errors.graph_reason(str(error))}"
            raise errors.DataError(
                f"Cannot read the data set in {folder}: {reason}. {remedy}"
            ) from error

    paths = tuple(path for path in folder.iterdir() if path.is_file())
    return Source(folder.name, paths, read_arrays, remedy)


def _read(builder: Any, label: str) -> Arrays:
    """Returns the arrays of a data set of the zoo, see `Source.read`."""
    keys = {"images": "image", "labels": label}
    if label != "label":
        keys["usual_labels"] = "label"

    def select(example):
        return {array: example[key] for array, key in keys.items()}

    arrays: Arrays = {}
    for split in ("train", "test"):
        # These images are PNG, for which every decoder returns the same pixels.
        arrays |= _read_split(builder, split, select)
    return {**arrays, "class_names": np.array(builder.info.features[label].names)}


def _read_images(builder: Any, shape: shapes.Shape | None) -> Arrays:
    """Returns the arrays of any data set of images, see `find_images`."""
    import tensorflow_datasets as tfds

    from elu_zoo.data import images

    info = builder.info
    image, label = _features(info)
    stored = info.features[image].shape
    target = shape or stored
    if None in target:
        raise errors.UsageError(
            f"The images of {info.full_name} differ in shape: {stored}. Set image_shape to "
            "(height, width, channels) to resize the images. Received: None."
        )
    if "train" not in info.splits:
        raise errors.DataError(
            f"{info.full_name} has no split 'train'. It has {', '.join(info.splits)}."
        )
    counts = {x: info.splits[x].num_examples for x in splits.NAMES if x in info.splits}
    shapes.check_memory(sum(counts.values()), target)

    def decode(example):
        pixels = images.decode(example[image], target)
        return {"images": pixels, "labels": example[label]}

    arrays: Arrays = {
        "class_names": np.array(info.features[label].names),
        "terms": np.array(_terms(info)),
    }
    decoders = {image: tfds.decode.SkipDecoding()}
    for split, count in counts.items():
        if not count:
            raise errors.DataError(f"The split {split!r} of {info.full_name} has no examples.")
        arrays |= _read_split(builder, split, decode, decoders)
    return arrays


def _read_split(
    builder: Any, split: str, select: Callable[[Any], Any], decoders: Any = None
) -> Arrays:
    """Returns the arrays that `select` returns for examples of a split, in order."""
    import tensorflow as tf
    import tensorflow_datasets as tfds

    # AutoGraph has nothing to convert here, and changes the messages of errors.
    select = tf.autograph.experimental.do_not_convert(select)
    dataset = builder.as_dataset(
        split=split,
        shuffle_files=False,
        decoders=decoders,
        read_config=tfds.ReadConfig(try_autocache=False),
    )
    dataset = dataset.map(select, num_parallel_calls=os.cpu_count() or 1, deterministic=True)
    batches = list(tfds.as_numpy(dataset.batch(1000)))
    return {
        f"{split}_{array}": np.concatenate([batch[array] for batch in batches])
        for array in dataset.element_spec
    }


def _features(info: Any) -> tuple[str, str]:
    """Returns the names of the features that hold the image and the label."""
    import tensorflow_datasets as tfds

    features = info.features

    def find_feature(name: str, kind: type) -> str | None:
        candidates = [k for k, v in features.items() if isinstance(v, kind)]
        if name in candidates:
            return name
        return candidates[0] if len(candidates) == 1 else None

    image = find_feature("image", tfds.features.Image)
    label = find_feature("label", tfds.features.ClassLabel)
    if image is None or label is None or features[image].dtype != np.uint8:
        raise errors.DataError(
            f"{info.full_name} does not have one 8-bit image and one label per example. Its "
            f"features are: {', '.join(features)}."
        )
    return image, label


def _terms(info: Any) -> str:
    licence = info.redistribution_info.license.strip()
    page = f" See {info.homepage}." if info.homepage else ""
    return f"{info.full_name}: {licence or 'terms unknown to tensorflow-datasets'}.{page}"
