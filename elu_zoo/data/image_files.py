"""Reading of the image files and folders that a user passes for prediction."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from absl import logging

from elu_zoo import errors, files, quiet
from elu_zoo.data import formats
from elu_zoo.data.shapes import Shape

_NAMED = 5  # the largest number of files that a message names


class Images(NamedTuple):
    """Pixels of image files, and the files that could not be read.

    Attributes:
        pixels: uint8 `(n, height, width, channels)`, 0..255.
        paths: path of each image.
        left_out: for each unusable file, a sentence with its path and the reason.
    """

    pixels: np.ndarray
    paths: list[Path]
    left_out: list[str]


def read_images(
    paths: str | os.PathLike | Sequence[str | os.PathLike], shape: Shape
) -> Images:
    """Reads image files for prediction; unusable files are left out.

    Args:
        paths: one or several paths of files or folders. A folder stands for its
            images, sorted by name: the visible files with a suffix of
            `formats.SUFFIXES` or with the content of an image. Folders inside a folder
            are not read, and a warning lists these folders.
        shape: `(height, width, channels)` of the pixels, with 1 or 3 channels; see
            `images.decode`.

    Raises:
        NotFoundError: a path does not exist. No file is read in this case.
        UsageError: `paths` is empty.
        DataError: no file can be used.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if not paths:
        raise errors.UsageError("No image was passed. Pass a file or a folder.")
    check_exist(paths)
    pixels, used, bad = [], [], []
    listed = []
    for path in paths:
        try:
            listed += _image_files(Path(path).expanduser())
        except errors.DataError as error:
            bad.append(error)
    with quiet.native():  # The libraries print messages about damaged files.
        for file in listed:
            try:
                pixels.append(read_image(file, shape))
                used.append(file)
            except (errors.DataError, errors.NotFoundError) as error:
                bad.append(error)
    if not pixels:
        raise _no_image_error(bad)
    return Images(np.stack(pixels), used, [str(error) for error in bad])


def check_exist(paths: Sequence[str | os.PathLike]) -> None:
    """Raises `NotFoundError` unless all files and folders exist."""
    for path in (Path(path).expanduser() for path in paths):
        if not path.exists():
            raise errors.NotFoundError(f"{path} does not exist.")


def read_image(path: Path, shape: Shape) -> np.ndarray:
    """Returns the pixels of one PNG or JPEG file, uint8 of the shape `shape`.

    Args:
        path: path of the file.
        shape: `(height, width, channels)`; see `images.decode`.

    Raises:
        NotFoundError: the file does not exist.
        DataError: the file cannot be read, is not a usable image, or is not a regular
            file of at most `formats.MAX_BYTES` bytes.
    """
    from elu_zoo.data import images

    try:
        content = files.read_regular(path, formats.MAX_BYTES, "an image file")
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"{path} does not exist.") from error
    except errors.CorruptError as error:
        raise errors.DataError(f"{path} cannot be used: it {error}.") from None
    except OSError as error:
        raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error
    try:
        return images.decode_checked(content, shape, min_side=1)[0]
    except errors.DataError as error:
        raise errors.DataError(f"{path} cannot be used: {error}.") from error


def _image_files(path: Path) -> list[Path]:
    """Returns the image files of a folder, or a list with the path of a file."""
    if not path.is_dir():
        return [path]
    try:
        visible = sorted(x for x in path.iterdir() if not x.name.startswith("."))
    except OSError as error:
        raise errors.DataError(f"Cannot read {path}: {error.strerror}.") from error
    folders = [x.name for x in visible if x.is_dir()]
    images = [x for x in visible if not x.is_dir() and _is_image(x)]
    named = errors.listed(folders)
    if not images:
        hint = f" Pass the folders in {path} instead: {named}." if folders else ""
        raise errors.DataError(f"{path} holds no image; expected PNG or JPEG.{hint}")
    if folders:
        logging.warning("The folders inside %s are not read: %s.", path, named)
    return images


def _is_image(file: Path) -> bool:
    """Returns whether a file has the suffix or the content of an image."""
    if file.suffix.lower() in formats.SUFFIXES:
        return True
    try:
        with files.open_regular(file) as opened:
            return formats.is_image(opened.read(formats.HEAD))
    except (OSError, errors.CorruptError):
        return False


def _no_image_error(bad: Sequence[errors.EluZooError]) -> errors.EluZooError:
    """Returns the error for the case that no file can be used."""
    if len(bad) == 1:
        return bad[0]
    more = f" And {len(bad) - _NAMED} more." * (len(bad) > _NAMED)
    reasons = " ".join(str(error) for error in bad[:_NAMED])
    return errors.DataError(f"None of {len(bad)} images can be used: {reasons}{more}")
