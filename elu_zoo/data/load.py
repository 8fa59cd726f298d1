"""Loading of data sets by name or path into memory, by the one reader of their source."""

import dataclasses
import os
import re
from pathlib import Path

from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import catalog, shapes
from elu_zoo.data.dataset import SPLITS, ImageData, Split
from elu_zoo.data.shapes import Shape

IMAGENET = "imagenet2012"  # whose images stay on the disk; see `elu_zoo.data.imagenet`


def names() -> list[str]:
    """Returns the names of the zoo's data sets, which `load` accepts."""
    return sorted(catalog.ENTRIES)


def is_own(name: str, folder: str = "") -> bool:
    """Returns whether the fields `data.name` and `data.folder` name a user's images."""
    return bool(folder) or name not in (*names(), IMAGENET)


def training_images(name: str, with_validation: bool) -> int:
    """Returns the number of training (and validation) images of a zoo data set."""
    train, validation, _ = catalog.ENTRIES[name].sizes
    return train + validation * with_validation


def load(
    name: str | os.PathLike, data_dir: str | Path | None = None, image_shape: Shape | None = None
) -> ImageData:
    """Loads a data set from local files into memory.

    The first load decodes the images (about 10 s for MNIST) and, except for .npz files, caches the
    arrays in `$ELU_ZOO_HOME/data`. Later loads read the cache, without TensorFlow. The splits of
    the zoo's data sets hold the same images in the same order on every machine. Missing
    splits of a user's data set are cut from the training images, see `splits.split`.

    Args:
        name: one of `names()`, or the user's images: a folder of PNG and JPEG files,
            see `folder.find`; an .npz file, see `npz.read`; or the name of a data set
            that tensorflow-datasets prepared, with its config if it has one
            (`"beans"`, `"imagenet_resized/32x32"`), see `tfds.find`.
        data_dir: see `tfds.find_folder`. `mnist_5k` is part of a package and ignores this argument.
        image_shape: `(height, width, channels)` to which every image is adapted, see
            `images.adapt`. None keeps the shape of the images, which must be equal.

    Returns:
        A data set; a user's data set has the name of the folder, file or builder.

    Raises:
        UsageError: the name is unknown, or image_shape is invalid or needed.
        NotFoundError: the folder or the .npz file does not exist.
        DataError: the data set is missing, damaged or not of the expected form.
        ResourceError: the images take more than 2 GiB.
    """
    if isinstance(name, os.PathLike):
        # A PathLike is a path, even if a data set of the zoo has the same name.
        name = os.path.join(os.curdir, os.path.expanduser(name))
    if image_shape is not None:
        image_shape = shapes.check_shape(image_shape)
    if name not in catalog.ENTRIES:
        return _load_user_data(name, data_dir, image_shape)
    if os.path.isdir(name):
        logging.warning("Loading the zoo's data set %r. Pass ./%s to load the folder.", name, name)
    data = catalog.load(name, data_dir)
    return data if image_shape is None else _adapted(data, image_shape)


def check_exists(name: str, data_dir: str | Path | None = None) -> None:
    """Checks that a data set of the zoo, a folder, a file or a prepared data set exists."""
    path = Path(os.path.expanduser(name))
    is_npz = path.suffix == ".npz"
    if name in (*catalog.ENTRIES, IMAGENET) or path.is_dir() or (is_npz and path.exists()):
        return
    missing = f"There is no file {path}" if is_npz else f"There is no folder or .npz file {name}"
    # Names of tensorflow-datasets are `<data set>` or `<data set>/<config>`.
    is_file = bool(path.suffix) and path.is_file()
    if is_npz or is_file or name[0] in "./~" or name[-1] == "/" or name.count("/") > 1:
        raise errors.NotFoundError(f"{missing}. {files.similar(path)}".rstrip())
    from elu_zoo.data import tfds

    try:
        tfds.find_folder(name, None, data_dir)
    except errors.DataError as error:
        unknown = errors.unknown_name_error("data set", name, names())
        raise errors.UsageError(
            f"{unknown} {missing} either. {files.similar(path)}tensorflow-datasets: {error}"
        ) from error


def _adapted(data: ImageData, shape: Shape) -> ImageData:
    """Returns a data set in memory with images adapted to a shape."""
    if shape == data.image_shape:
        return data
    from elu_zoo.data.images import adapt_all

    parts = {name: data.split(name) for name in SPLITS}
    shapes.check_memory(sum(map(len, parts.values())), shape)
    adapted: dict = {name: Split(adapt_all(x.images, shape), x.labels) for name, x in parts.items()}
    fingerprint = "_".join([data.fingerprint, *map(str, shape)])
    return dataclasses.replace(data, **adapted, fingerprint=fingerprint)


def _load_user_data(name: str, data_dir: str | Path | None, image_shape: Shape | None) -> ImageData:
    """Loads images that are not a data set of the zoo; see `load`."""
    if not isinstance(name, str) or not name:
        raise errors.unknown_name_error("data set", name, names())
    check_exists(name, data_dir)
    from elu_zoo.data import cache, folder, npz, splits, tfds

    path = Path(os.path.expanduser(name))
    stem = path.stem if path.exists() else name
    identifier = re.sub(r"\W+", "_", stem.lower()).strip("_") or "images"
    identifier += "_own" * (identifier in names())
    if path.suffix == ".npz":
        arrays = npz.read(path, image_shape)
    elif path.is_dir():
        if image_shape is None:
            raise errors.UsageError(
                f"The images of the folder {name} may have any size. Set image_shape "
                "to (height, width, channels) to resize the images. Received: None."
            )
        arrays = folder.read(path, image_shape)
    else:
        source = tfds.find(name, data_dir, shape=image_shape)
        key = f"tfds-{identifier}-{source.version}"
        arrays = cache.load(key, source.files, source.read, image_shape or ())
    if (brightest := arrays["train_images"].max(initial=0)) < 64:
        advice = "rescale the pixels; of 16-bit files only the upper 8 bits are read"
        logging.warning("%s: the brightest pixel is %d of 255: %s.", name, brightest, advice)
    terms = arrays.get("terms", f"{path.name}: the terms of its images.")
    return splits.split(identifier, arrays, str(terms))
