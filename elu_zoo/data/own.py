"""Images of your own: folders, .npz files, and what tensorflow-datasets prepared."""

import difflib
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import cache, image_arrays, image_folder, readers, shapes
from elu_zoo.data.sources import ImageData, Split, names

_PARTS = ("train", "validation", "test")
_HELD_OUT = 0.1  # of the images, for each part that is missing
# Of what `pixels.decoded` makes of a file: arrays that another one made are not read.
_DECODER = "decoder2"

Shape = tuple[int, int, int]


def load(
    name: str, data_dir: str | Path | None = None, image_shape: Shape | None = None
) -> ImageData:
    """Loads images that are not a data set of the zoo, into memory.

    A part that the data do not have, validation or test, is about a tenth of the
    images for training: those whose pixels have a hash in a tenth of all hashes. An
    image stays in its part whatever others are added or removed, and its copies with
    it.

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
        arrays, terms = image_arrays.read(path, image_shape), _terms(path)
    elif path.is_dir():
        if image_shape is None:
            raise errors.UsageError(
                f"The images of the folder {name} may have any size: image_shape says "
                "which (height, width, channels) they get. Received: None."
            )
        arrays, terms = _of_folder(path, image_shape), _terms(path)
    elif _is_path(name):
        raise errors.NotFoundError(
            f"There is no folder or .npz file {name}. {_close(path)}"
        )
    else:
        arrays, terms = _of_tfds(name, data_dir, image_shape)
    return _data(_slug(path.stem if path.exists() else name), arrays, terms)


def _is_path(name: str) -> bool:
    ends = name[0] in (".", "~", os.sep) or name[-1] == os.sep
    return ends or name.count(os.sep) > 1


def _close(path: Path) -> str:
    """Returns a hint to what beside a path has a name like it."""
    folder = path.parent
    beside = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1)
    return f"Did you mean {str(folder / near[0])!r}?" if near else ""


def _terms(path: Path) -> str:
    return f"{path.name}: those of its images."


def _slug(name: str) -> str:
    """Returns a name of letters, digits and underscores that is not the zoo's."""
    slug = re.sub(r"\W+", "_", name.lower()).strip("_") or "images"
    return f"{slug}_own" if slug in names() else slug


def _of_folder(folder: Path, shape: Shape) -> cache.Arrays:
    found = image_folder.find(folder, _PARTS)
    parts = found.splits
    paths = [parts[part].root / path for part in parts for path in parts[part].paths]
    shapes.check_size(len(paths), shape)
    size = "x".join(map(str, shape))

    def build() -> cache.Arrays:
        from elu_zoo.data import survey

        logging.info("Decoding %d images of %s to %s.", len(paths), folder, size)
        arrays: cache.Arrays = {}
        bad = []
        for part, examples in parts.items():
            pixels = np.empty((len(examples), *shape), np.uint8)
            each = map(_reader(examples), range(len(examples)))
            for index, seen in enumerate(survey.look(each, shape)):
                if seen.pixels is None:
                    bad.append(seen)
                else:
                    pixels[index] = seen.pixels
            arrays[f"{part}_images"] = pixels
            arrays[f"{part}_labels"] = examples.labels
        if bad:
            raise survey.refusal(bad, len(paths))
        return arrays

    key = f"{found.name}-{found.fingerprint}-{_changed(paths)}-{size}-{_DECODER}"
    return {
        **cache.load(key, paths, build),
        "class_names": np.array(found.class_names),
    }


def _changed(paths: Iterable[Path]) -> str:
    """Returns when files were written: names and sizes do not show what is in them."""
    times = [path.stat().st_mtime_ns for path in sorted(paths)]
    return files.sha256(repr(times).encode())[:8]


def _reader(examples: image_folder.FilesOfSplit) -> Callable:
    return lambda position: lambda: examples.read([position])[0]


def _of_tfds(
    name: str, data_dir: str | Path | None, shape: Shape | None
) -> tuple[cache.Arrays, str]:
    try:
        source = readers.find_tfds_images(name, data_dir, shape)
    except errors.DataError as error:
        raise errors.UsageError(
            f"{errors.unknown('data set', name, names())} There is no folder and no "
            f".npz file {name} either. {_close(Path(name))} As one of "
            f"tensorflow-datasets: {error}"
        ) from error
    size = "x".join(map(str, shape or ()))
    changed = f"{_changed(source.files)}-{size}-{_DECODER}"
    key = f"tfds-{_slug(name)}-{source.version}-{changed}"
    arrays = cache.load(key, source.files, source.read)
    return arrays, str(arrays["terms"])


def _data(name: str, arrays: cache.Arrays, terms: str) -> ImageData:
    class_names = tuple(map(str, arrays["class_names"]))
    _check(name, arrays, class_names)
    # Of what was read, whatever files it came from.
    content = hashlib.sha256()
    for key in sorted(arrays):
        content.update(np.ascontiguousarray(arrays[key]).data)
    parts = {
        part: Split(arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int32))
        for part in _PARTS
        if f"{part}_images" in arrays
    }
    parts = _held_out(name, parts)
    images = f"{name}-{content.hexdigest()[:8]}"
    return ImageData(
        name, **parts, class_names=class_names, note="", terms=terms, images=images
    )


def _held_out(name: str, parts: dict[str, Split]) -> dict[str, Split]:
    """Returns all three parts, those that are missing cut from the training images."""
    missing = [part for part in _PARTS if part not in parts]
    if not missing:
        return parts
    train = parts["train"]
    drawn = np.array([_uniform(image) for image in train.images])
    place = np.minimum(drawn / _HELD_OUT, 2).astype(int)  # 0, 1, or 2 for training
    order = np.argsort(drawn, kind="stable")
    for index, part in enumerate(("validation", "test")):
        if part not in missing:
            place[place == index] = 2
        elif not (place == index).any():  # of a few images only
            place[next(i for i in order if place[i] == 2)] = index
        if part in missing:
            chosen = np.flatnonzero(place == index)
            parts[part] = Split(train.images[chosen], train.labels[chosen])
            images = "1 image is" if len(chosen) == 1 else f"{len(chosen)} images are"
            logging.info("%s: %s held out for %s.", name, images, part)
    # In the order of their hashes, so that the first ones are of all classes.
    rest = [i for i in order if place[i] == 2]
    parts["train"] = Split(train.images[rest], train.labels[rest])
    return parts


def _uniform(image: np.ndarray) -> float:
    digest = hashlib.sha256(np.ascontiguousarray(image).data).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _check(name: str, arrays: cache.Arrays, class_names: tuple[str, ...]) -> None:
    shape, classes = None, len(class_names)
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
                f"first one {labels[bad[0]]}, of image {bad[0]}. It has {classes} "
                "class names."
            )
    if classes < 2:
        raise errors.DataError(
            f"{name} has one class, {class_names[0]}; two are the fewest."
        )
    if len(arrays["train_images"]) < len(_PARTS):
        raise errors.DataError(
            f"{name} has too few images: {len(arrays['train_images'])} to train on."
        )
