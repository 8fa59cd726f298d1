"""The layout of exports: <directory>/<name>/<version>/, with integer versions."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import errors, files

SAVED_MODEL = "saved_model.pb"
ONNX = "model.onnx"
LITERT = "model.tflite"
FILES = {"saved_model": SAVED_MODEL, "onnx": ONNX, "litert": LITERT}  # by format
# The packages that write and run a file of a format, and the extra of elu-zoo with its name.
PACKAGES = {"onnx": ("tf2onnx", "onnxruntime"), "litert": ("ai_edge_litert",)}
QUANTIZATIONS = ("dynamic", "float16")
MAX_VERSION = 2**63 - 1  # the largest int64, the type of a version on servers
# Names that fit into the REST paths of TensorFlow Serving. A number would be parsed as
# a version, and the file models.config lies beside the folders of the models.
_NAME = re.compile(r"(?!models\.config$)(?=.*[A-Za-z_])[A-Za-z0-9_][A-Za-z0-9_.-]*")


def is_name(name: object) -> bool:
    """Returns whether a model can have this name on a server."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name))


def check_name(name: object) -> None:
    """Checks that a model can have this name on a server."""
    if not is_name(name):
        raise errors.UsageError(
            "name must consist of letters, digits, '_', '-' and '.', contain a letter or '_', not "
            f"start with '-' or '.', and not be models.config. Received: {name!r}."
        )


def check_path(path: str | os.PathLike) -> None:
    """Refuses a path that TensorFlow would take for a pattern."""
    if "[" in os.path.abspath(path):
        raise errors.UsageError(
            f"TensorFlow cannot read models from a path with '[', such as {path}. Choose another "
            "folder."
        )


def check_format(format: str, quantize: str | None) -> None:
    """Checks that a format's packages are installed, and that it has a kind of quantization."""
    if quantize is not None and quantize not in QUANTIZATIONS:
        raise errors.unknown_name_error("quantization", quantize, QUANTIZATIONS)
    if quantize is not None and format != "litert":
        raise errors.UsageError(
            f"Only --format=litert can be quantized, got --quantize={quantize} and "
            f"--format={format}. Remove --quantize, or pass --format=litert."
        )
    errors.check_packages(f"The format {format}", PACKAGES.get(format, ()), format)


def versions(folder: Path) -> dict[int, Path]:
    """Returns the versions in the folder of a model, in ascending order."""
    if not folder.is_dir():
        return {}
    paths = [p for p in folder.iterdir() if p.name.isascii() and p.name.isdecimal()]
    by_number = {int(path.name): path for path in paths}
    return {n: by_number[n] for n in sorted(by_number) if 0 < n <= MAX_VERSION}


def write_labels(path: Path, class_names: Sequence[str]) -> None:
    """Writes class names, one per line."""
    path.write_text("".join(f"{name}\n" for name in class_names), "utf-8")


def new_version(folder: Path, version: int | None) -> Path:
    """Returns the path of a version that does not exist, by default the highest plus 1."""
    existing = versions(folder)
    if version is None:
        version = max(existing, default=0) + 1
    if type(version) is not int or not 1 <= version <= MAX_VERSION:
        raise errors.UsageError(
            f"version must be a positive integer up to {MAX_VERSION}, the largest of "
            f"servers, or None. Received: {version!r}. Pass another version."
        )
    if version in existing:
        raise errors.UsageError(
            f"{existing[version]} exists already and is never overwritten. Run again without "
            f"a version to write {max(existing) + 1}, or pass a version that is new."
        )
    return folder / str(version)


def find_version(directory: Path) -> Path:
    """Returns a version's folder, from it, from a model's folder or from one above it."""
    if not directory.exists():
        raise errors.NotFoundError(
            f"{directory} does not exist. {files.similar(directory)}".rstrip()
        )
    if not directory.is_dir():
        raise errors.UsageError(f"{directory} is not a folder.")
    check_path(directory)
    if (directory / SAVED_MODEL).exists():
        return directory
    models = [directory]
    if not versions(directory):
        models = [path for path in sorted(directory.iterdir()) if is_name(path.name)]
        models = [path for path in models if versions(path)]
    if len(models) > 1:
        names = ", ".join(path.name for path in models)
        raise errors.UsageError(
            f"{directory} holds several models: {names}. Pass the folder of one model."
        )
    if not models:
        raise errors.UsageError(
            f"{directory} holds no exported model. Expected <version>/saved_model.pb "
            "or <name>/<version>/saved_model.pb in it, with an integer <version>."
        )
    path = list(versions(models[0]).values())[-1]
    if not (path / SAVED_MODEL).exists():
        raise errors.UsageError(
            f"{path} holds no {SAVED_MODEL}. Export with --format=saved_model to another folder."
        )
    return path
