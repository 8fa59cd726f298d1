"""Reading of the image files and folders that a user passes for prediction."""

import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from absl import logging

from elu_zoo import errors, files, quiet
from elu_zoo.data import digits, formats, shapes
from elu_zoo.data.shapes import Shape

_URL = re.compile(r"(https?|ftp|s3|gs|file|data):", re.IGNORECASE)
_EXPECTED = "PNG, JPEG or WebP"  # exports and training do not read WebP


class Images(NamedTuple):
    """Pixels of images, and sentences about files that could not be read."""

    pixels: np.ndarray  # uint8 (n, height, width, channels)
    names: list[str]  # path or name of each image
    left_out: Sequence[str] = ()
    remarks: Sequence[str] = ()  # on images that are odd as digits


def read_images(paths: Sequence[str | os.PathLike], shape: Shape, digit: bool = False) -> Images:
    """Reads image files for prediction; unusable files are left out.

    A folder stands for its visible files with a suffix of `formats.SUFFIXES`, sorted by
    name. The arguments `shape` and `digit` are those of `read_image`.
    """
    check_exist(paths)
    listed, read, bad = [], [], []
    for path in paths:
        try:
            listed += _image_files(Path(os.path.expanduser(path)))
        except errors.DataError as error:
            bad.append(error)
    with quiet.native():  # The libraries print messages about damaged files.
        for file in listed:
            try:
                read.append(read_image(file, shape, digit))
            except (errors.DataError, errors.NotFoundError) as error:
                bad.append(error)
    if len(bad) == 1 and not read:
        raise bad[0]
    if not read:
        raise errors.DataError(f"None of {len(bad)} images can be used, for instance: {bad[0]}")
    return _joined(read)._replace(left_out=[str(error) for error in bad])


def _joined(parts: Sequence[Images]) -> Images:
    pixels, names, _, remarks = zip(*parts, strict=True)
    return Images(np.concatenate(pixels), sum(names, []), (), sum(remarks, []))


def check_exist(paths: Sequence[str | os.PathLike]) -> None:
    """Checks that all files and folders exist."""
    for path in paths:
        if _URL.match(str(path)):
            raise errors.UsageError(
                f"{path} is a URL, and images are read from files only. Download it "
                "first, for instance with curl -O."
            )
        if not Path(os.path.expanduser(path)).exists():
            raise errors.NotFoundError(f"{Path(os.path.expanduser(path))} does not exist.")


def read_image(source: Any, shape: Shape, digit: bool = False, name: str = "") -> Images:
    """Returns the images of a source.

    Args:
        source: a path, the content of a file (PNG, JPEG or WebP), an open file, an
            image of Pillow, an array of 0..255, or a list of these.
        shape: see `images.decode`.
        digit: whether the images are digits, which get MNIST's form.
        name: what messages call an image that has no path.
    """
    from elu_zoo.data import images

    if isinstance(source, list | tuple) and source:
        parts = enumerate(source)
        return _joined([read_image(x, shape, digit, f"images[{i}]") for i, x in parts])
    name = str(source) if isinstance(source, str | os.PathLike) else name or "The image"
    whole: Any = (None, None, 1) if digit else shape
    try:
        content = _content(source)
        if isinstance(content, bytes):
            if content.startswith(b"WEBP", 8):
                content = images.webp_as_png(content)
            elif content and not content.startswith((formats.JPEG, formats.PNG)):
                raise formats.unsupported_error(content, _EXPECTED)
            pixels = images.decode_checked(content, whole, min_side=1)[None]
        else:
            pixels = images.adapt(content, whole).numpy()
        if not digit:
            return Images(pixels, [name] * len(pixels), (), [])
        made, odd = zip(*map(digits.normalize, pixels), strict=True)
    except errors.DataError as error:
        raise errors.DataError(f"{name} cannot be used: {error}.") from error
    remarks = [f"{name} {text}." for text in odd if text]
    return Images(np.stack(made), [name] * len(made), (), remarks)


def _content(source: Any) -> bytes | np.ndarray:
    """Returns the content of a file, or an array as uint8 images."""
    if isinstance(source, str | os.PathLike):
        try:
            check_exist([source])
            path = Path(os.path.expanduser(source))
            return files.read_regular(path, formats.MAX_BYTES, "an image file")
        except errors.CorruptError as error:
            raise errors.DataError(f"it {error}") from None
        except errors.UsageError:  # NotFoundError is an OSError too
            raise
        except OSError as error:
            raise errors.DataError(f"it cannot be read: {error.strerror}") from error
    if isinstance(source, getattr(sys.modules.get("PIL.Image"), "Image", ())):
        from PIL import Image, ImageOps

        image, buffer = ImageOps.exif_transpose(source), io.BytesIO()
        if image.mode in ("I", "F"):  # numbers of any range, which `convert` clips
            return _pixels(np.asarray(image))
        if image.mode.startswith("I;16"):
            image = Image.fromarray(np.asarray(image).astype("<u2"))
        elif image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
            image = image.convert("RGBA" if image.mode in ("PA", "RGBa") else "RGB")
        image.save(buffer, "PNG")
        return buffer.getvalue()
    if hasattr(source, "read"):
        source = source.read()
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    array = np.asarray(source)
    if array.dtype.kind not in "iuf":
        name = f"an array of {array.dtype}" if hasattr(source, "dtype") else type(source).__name__
        raise errors.UsageTypeError(
            "An image must be a path, the bytes of a file, a PIL image or an array of "
            f"numbers, or a list of these. Received: {name}."
        )
    return _pixels(array)


def _pixels(array: np.ndarray) -> np.ndarray:
    """Returns an array as uint8 images `(n, height, width, channels)`."""
    shape = array.shape
    if array.ndim in (2, 3):
        array = array.reshape(1, *shape, *[1] * (3 - array.ndim))
    if array.ndim != 4 or array.shape[-1] not in range(1, 5) or 0 in shape:
        raise errors.UsageError(
            "An array must be (height, width), (height, width, channels) or (batch, "
            f"height, width, channels), with 1 to 4 channels. Received: {shape}."
        )
    return shapes.to_pixels(array, "Pixels", errors.UsageError)


def _image_files(path: Path) -> list[Path]:
    """Returns the image files of a folder, or a list with the path of a file."""
    if not path.is_dir():
        return [path]
    try:
        visible = sorted(x for x in path.iterdir() if not x.name.startswith("."))
    except OSError as error:
        raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error
    if folders := [x.name for x in visible if x.is_dir()]:
        named = errors.listed(folders)
        logging.warning("The folders inside %s are not read: %s. Pass them.", path, named)
    images = [x for x in visible if not x.is_dir() and x.suffix.lower() in formats.SUFFIXES]
    if not images:
        raise errors.DataError(f"{path} holds no image; expected {_EXPECTED}.")
    return images
