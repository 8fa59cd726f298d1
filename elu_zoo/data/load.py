"""Data sets by name or path, loaded into memory."""

import dataclasses
import difflib
import os
import re
from pathlib import Path

from absl import logging

from elu_zoo import errors
from elu_zoo.data import cache, catalog, folder, npz, shapes, splits, tfds
from elu_zoo.data.dataset import ImageData, Split
from elu_zoo.data.shapes import Shape

# Data sets that `load` cannot hold in memory; see `elu_zoo.data.imagenet`.
ENCODED = ("imagenet2012",)


def names() -> list[str]:
    """Returns the names of the zoo's data sets, which `load` takes."""
    return sorted(catalog.ROWS)


def training_images(name: str, with_validation: bool) -> int:
    """Returns how many images of a data set of `names()` are trained on."""
    row = catalog.ROWS[name]
    return row.train + row.validation * with_validation


def load(
    name: str | os.PathLike,
    data_dir: str | Path | None = None,
    image_shape: Shape | None = None,
) -> ImageData:
    """Loads a data set; reads local files only.

    The first load decodes (MNIST: about 10 s) and caches the arrays in
    `$ELU_ZOO_HOME/data`; a later one reads that file, without TensorFlow. The splits
    of the zoo's data sets are the same images in the same order on every machine,
    whoever prepared the files. Splits that a user's images lack are held out of the
    images for training, see `splits.split`.

    Args:
        name: one of `names()`; or images of the user: a folder `<class>/<image>` of PNG
            and JPEG files, or one of such folders named `train`, `val` (or
            `validation`) and `test`, see `folder.find`; the path of an .npz file, see
            `npz.read`; or the name of a data set of tensorflow-datasets, with its
            config where it has one (`"beans"`, `"imagenet_resized/32x32"`), which has
            been prepared and has one image and one label an example.
        data_dir: folder that tensorflow-datasets prepared; None: $TFDS_DATA_DIR, else
            ~/tensorflow_datasets. `mnist_5k` comes with a package and ignores it.
        image_shape: `(height, width, channels)` to which every image is adapted, see
            `images.adapt`; None keeps images as they are, if all have one shape.

    Returns:
        A data set; the user's is named like the folder, the file or the builder.

    Raises:
        UsageError: no data set has that name, no images have that shape, or images of
            a folder need an `image_shape`.
        DataError: it is missing, unprepared, damaged, or not what it should be.
        ResourceError: the user's images are too large for the memory.
    """
    if isinstance(name, os.PathLike):
        name = os.path.join(name, "")  # a path, even where the zoo has that name
        name = name if os.path.isdir(name) else name.removesuffix(os.sep)
    if image_shape is not None:
        image_shape = shapes.check_shape(image_shape)
    if name not in catalog.ROWS:
        return _load_own(name, data_dir, image_shape)
    if os.path.isdir(name):
        logging.warning(
            "%r is the data set of the zoo; ./%s would be the folder here.", name, name
        )
    data = catalog.load(name, data_dir)
    return data if image_shape is None else adapted(data, image_shape)


def check_exists(name: str) -> None:
    """Checks that the folder or file exists where a data set is named by a path.

    Raises:
        NotFoundError: it does not.
    """
    path = Path(name).expanduser()
    if name in catalog.ROWS or path.is_dir():
        return
    if path.suffix == ".npz":
        npz.check_exists(path)
    elif name and _is_path(name):
        raise errors.NotFoundError(
            f"There is no folder or .npz file {name}. {_close(path)}"
        )


def adapted(data: ImageData, shape: Shape) -> ImageData:
    """Returns a data set with its images adapted to a shape, in memory."""
    if tuple(shape) == data.image_shape:
        return data
    from elu_zoo.data.images import adapt_all

    def adapt(split: Split) -> Split:
        return Split(adapt_all(split.images, shape), split.labels)

    return dataclasses.replace(
        data,
        train=adapt(data.train),
        validation=adapt(data.validation),
        test=adapt(data.test),
        images="_".join([data.images, *map(str, shape)]),
    )


def _load_own(
    name: str, data_dir: str | Path | None, image_shape: Shape | None
) -> ImageData:
    """Loads images that are not a data set of the zoo; see `load`."""
    if not isinstance(name, str) or not name:
        raise errors.unknown("data set", name, names())
    check_exists(name)
    path = Path(name).expanduser()
    terms = f"{path.name}: those of its images."
    if path.suffix == ".npz":
        arrays = npz.read(path, image_shape)
    elif path.is_dir():
        if image_shape is None:
            raise errors.UsageError(
                f"The images of the folder {name} may have any size: image_shape says "
                "which (height, width, channels) they get. Received: None."
            )
        arrays = folder.read(path, image_shape)
    else:
        arrays = _read_tfds(name, data_dir, image_shape)
        terms = str(arrays["terms"])
    return splits.split(_slug(path.stem if path.exists() else name), arrays, terms)


def _is_path(name: str) -> bool:
    ends = name[0] in (".", "~", os.sep) or name[-1] == os.sep
    return ends or name.count(os.sep) > 1


def _close(path: Path) -> str:
    """Returns a hint to a file or folder beside a path that has a similar name."""
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, n=1)
    return f"Did you mean {str(path.parent / near[0])!r}?" if near else ""


def _slug(name: str) -> str:
    """Returns a name of letters, digits and underscores that is not the zoo's."""
    slug = re.sub(r"\W+", "_", name.lower()).strip("_") or "images"
    return f"{slug}_own" if slug in names() else slug


def _read_tfds(
    name: str, data_dir: str | Path | None, shape: Shape | None
) -> cache.Arrays:
    try:
        source = tfds.find_images(name, data_dir, shape)
    except errors.DataError as error:
        raise errors.UsageError(
            f"{errors.unknown('data set', name, names())} There is no folder and no "
            f".npz file {name} either. {_close(Path(name))} As one of "
            f"tensorflow-datasets: {error}"
        ) from error
    key = f"tfds-{_slug(name)}-{source.version}"
    return cache.load_decoded(key, source.files, shape or (), source.read)
