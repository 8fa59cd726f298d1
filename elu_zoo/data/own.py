"""Images of your own: folders, .npz files, and what tensorflow-datasets prepared."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import cache, image_arrays, image_folder, order, readers
from elu_zoo.data.sources import ImageData, Split, names

# Fixed for ever, as in sources.
_SPLIT_SEED = 20160222
_HELD_OUT = 10  # one in so many
_PARTS = ("train", "validation", "test")
# Of the arrays in memory; larger sets stay encoded, see data.imagenet.
_LIMIT_BYTES = 2**32

Shape = tuple[int, int, int]


def load(
    name: str, data_dir: str | Path | None = None, image_shape: Shape | None = None
) -> ImageData:
    """Loads images that are not a data set of the zoo, into memory.

    A part that the data do not have, validation or test, is a tenth of the images for
    training, drawn at random, the same ones each time.

    Args:
        name: a folder `<class>/<image>` of PNG and JPEG files, or one of such folders
            named `train`, `val` (or `validation`) and `test`, see `image_folder.find`;
            the path of an .npz file, see `image_arrays.read`; or the name of a data set
            of tensorflow-datasets, with its config where it has some
            (`"beans"`, `"imagenet_resized/32x32"`), which has been prepared and has one
            image and one label an example.
        data_dir: folder that tensorflow-datasets prepared; None: $TFDS_DATA_DIR, else
            ~/tensorflow_datasets.
        image_shape: `(height, width, channels)` to which images are adapted, see
            `pixels.fitted`; None takes them as they are, if all have one shape.

    Returns:
        A data set that is named like the folder, the file or the builder.

    Raises:
        UsageError: nothing has this name, or images of a folder need an `image_shape`.
        DataError: the data cannot be used.
        ResourceError: they are too large for the memory.
    """
    if not isinstance(name, str) or not name:
        raise errors.unknown("data set", name, names())
    path = Path(name).expanduser()
    if path.suffix == ".npz":
        arrays, terms = image_arrays.read(path, image_shape), _terms(name)
    elif path.is_dir():
        if image_shape is None:
            raise errors.UsageError(
                f"The images of the folder {name} may have any size: image_shape says "
                "which (height, width, channels) they get. Received: None."
            )
        arrays, terms = _of_folder(path, image_shape), _terms(name)
    elif name[:1] in ("", ".", "~", os.sep) or name.count(os.sep) > 1:
        raise errors.NotFoundError(f"There is no folder or .npz file {name}.")
    else:
        arrays, terms = _of_tfds(name, data_dir, image_shape)
    return _data(_slug(path.stem if path.exists() else name), arrays, terms)


def _terms(name: str) -> str:
    return f"{Path(name).name}: those of its images."


def _slug(name: str) -> str:
    """Returns a name of letters, digits and underscores that is not the zoo's."""
    slug = re.sub(r"\W+", "_", name.lower()).strip("_") or "images"
    return f"{slug}_own" if slug in names() else slug


def _of_folder(folder: Path, shape: Shape) -> cache.Arrays:
    found = image_folder.find(folder, _PARTS)
    parts = found.splits
    check_size(sum(map(len, parts.values())), shape)

    def build() -> cache.Arrays:
        from elu_zoo.data import survey

        arrays: cache.Arrays = {}
        count, bad = 0, []
        for part, examples in parts.items():
            count += len(examples)
            each = map(_reader(examples), range(len(examples)))
            seen = list(survey.look(each, shape))
            bad += [x for x in seen if x.pixels is None]
            if not bad:
                arrays[f"{part}_images"] = np.stack([x.pixels for x in seen])
                arrays[f"{part}_labels"] = examples.labels
        if bad:
            raise survey.refusal(bad, count)
        return arrays

    # Names and sizes alone do not show that an image was drawn over.
    paths = [parts[part].root / path for part in parts for path in parts[part].paths]
    changed = files.sha256(repr([p.stat().st_mtime_ns for p in paths]).encode())[:8]
    size = "x".join(map(str, shape))
    logging.info("Decoding %d images of %s to %s.", len(paths), folder, size)
    key = f"{found.name}-{found.fingerprint}-{changed}-{size}"
    return {
        **cache.load(key, paths, build),
        "class_names": np.array(found.class_names),
    }


def _reader(examples: image_folder.FilesOfSplit) -> Callable:
    return lambda position: lambda: examples.read([position])[0]


def _of_tfds(
    name: str, data_dir: str | Path | None, shape: Shape | None
) -> tuple[cache.Arrays, str]:
    try:
        source = readers.find_tfds_images(name, data_dir, shape)
    except errors.DataError as error:
        raise errors.UsageError(
            f"{errors.unknown('data set', name, names())} It is no folder and no .npz "
            f"file either; as one of tensorflow-datasets: {error}"
        ) from error
    size = "x".join(map(str, shape or ()))
    key = f"tfds-{_slug(name)}-{source.version}-{size}"
    arrays = cache.load(key, source.files, source.read)
    return arrays, str(arrays["terms"])


def check_size(count: int, shape: Shape) -> None:
    """Refuses what would not fit the memory.

    Raises:
        ResourceError: more than 4 GiB of pixels.
    """
    if count * int(np.prod(shape)) > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"{count} images of {shape} take {count * int(np.prod(shape)) / 2**30:.0f} "
            f"GiB of memory; {_LIMIT_BYTES // 2**30} GiB is the limit. Take a smaller "
            "image_shape, or train elu_imagenet_15, whose images stay on the disk."
        )


def _data(name: str, arrays: cache.Arrays, terms: str) -> ImageData:
    class_names = tuple(map(str, arrays["class_names"]))
    _check(name, arrays, len(class_names))
    # Of what was read, whatever files it came from.
    content = b"".join(arrays[key].tobytes() for key in sorted(arrays))
    parts = {
        part: Split(arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int32))
        for part in _PARTS
        if f"{part}_images" in arrays
    }
    train = parts["train"]
    rest = order.permutation(_SPLIT_SEED, 0, len(train))
    for part in ("validation", "test"):
        if part not in parts:
            count = max(1, len(train) // _HELD_OUT)
            taken, rest = rest[:count], rest[count:]
            parts[part] = Split(train.images[taken], train.labels[taken])
            logging.info("%s: %d images are held out for %s.", name, count, part)
    if not len(rest):
        raise errors.DataError(f"{name} has too few images: {len(train)} in all.")
    parts["train"] = Split(train.images[rest], train.labels[rest])
    images = f"{name}-{files.sha256(content)[:8]}"
    return ImageData(
        name, **parts, class_names=class_names, note="", terms=terms, images=images
    )


def _check(name: str, arrays: cache.Arrays, classes: int) -> None:
    if classes < 2:
        raise errors.DataError(f"{name} has {classes} class(es); two are the fewest.")
    shape = None
    for part in _PARTS:
        if f"{part}_images" not in arrays:
            continue
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if not len(images):
            raise errors.DataError(f"{name} has no {part} images.")
        shape = shape or images.shape[1:]
        if images.shape[1:] != shape:
            raise errors.DataError(
                f"{name} has {part} images of {images.shape[1:]}, others of {shape}."
            )
        bad = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(bad):
            raise errors.DataError(
                f"{name}: {len(bad)} {part} labels are outside 0..{classes - 1}, the "
                f"first one {labels[bad[0]]}, of image {bad[0]}."
            )
