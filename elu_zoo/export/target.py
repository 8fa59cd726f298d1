"""Target: a new version of an export, which appears atomically."""

import contextlib
import dataclasses
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
from absl import logging

from elu_zoo import errors, files
from elu_zoo.export import origin, versions
from elu_zoo.weights import provenance

_TEMPORARY = re.compile(r"\.\d+\.[a-z0-9_]{8}\.partial")  # see `files.new_directory`


@dataclasses.dataclass(frozen=True)
class Target:
    """A version that an export writes.

    Attributes:
        directory: the base of all exports; created if missing.
        file: the version's main file: `SAVED_MODEL`, `ONNX` or `LITERT`.
        version: see `versions.new_version`.
        source: see `origin.of_weights`; None if unknown.
        replace: allow the highest version of this name to be another model, see
            `provenance.is_same`.
    """

    directory: str | os.PathLike
    name: str
    file: str
    version: int | None = None
    source: Mapping[str, Any] | None = None
    replace: bool = False

    def check(self) -> None:
        """Checks that the version can be written."""
        versions.check_name(self.name)
        errors.check_bool("replace", self.replace)
        if self.file == versions.SAVED_MODEL:
            versions.check_path(self.directory)
        if keras.config.backend() != "tensorflow":
            raise errors.UsageError(
                f"{self.file} must be written with KERAS_BACKEND=tensorflow, got "
                f"{keras.config.backend()}. Set KERAS_BACKEND=tensorflow; weight files are "
                "the same for all backends."
            )
        with self._disk_errors():
            self._describe_replacement(self._path())

    @contextlib.contextmanager
    def write_version(self) -> Iterator[tuple[Path, Path]]:
        """Yields the version's path and the temporary folder that becomes the version.

        If the block raises, the temporary folder and new parent folders are removed.
        The log reports the replacement of another model.
        """
        self.check()
        folder = self._folder()
        with self._disk_errors(), _no_empty_folders(folder):
            path = self._path()
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.ExitStack() as locks, contextlib.ExitStack() as writing:
                with files.locked(folder):
                    _remove_leftovers(folder)
                    temporary = writing.enter_context(files.new_directory(path))
                    locks.enter_context(files.locked(temporary))
                yield path, temporary
                locks.enter_context(files.locked(folder))
                if self.version is None and path.exists():
                    raise errors.ResourceError(f"Another export wrote {path} first. Run again.")
                versions.new_version(folder, int(path.name))
                replacement = self._describe_replacement(path)
        if replacement:
            logging.warning("%s", replacement)

    def _folder(self) -> Path:
        return Path(os.path.expanduser(self.directory), self.name)

    def _path(self) -> Path:
        return versions.new_version(self._folder(), self.version)

    def _describe_replacement(self, path: Path) -> str:
        """Returns a line about another model with this name, or "" if there is none."""
        paths = versions.versions(path.parent)
        _check_same_format(paths, self.file)
        if not paths:
            return ""
        highest, number = max(paths), int(path.name)
        served = origin.read(paths[highest])
        if provenance.is_same(served, self.source):
            return ""
        old, new = provenance.text(served), provenance.text(self.source)
        is_highest = number > highest
        if not self.replace:
            effect = "be served instead" if is_highest else "be lower and not served"
            raise errors.UsageError(
                f"{paths[highest]} holds another model: {old}. Version {number} ({new})"
                f" would {effect}. Pass --name=<another name> to keep both models, or "
                "--replace to write this version (in Python name= and replace=True)."
            )
        if is_highest:
            effect = f"replaces version {highest}: {old} -> {new}"
        else:
            effect = f"is {new}; servers keep the higher version {highest}: {old}"
        return f"version {number} of {self.name} {effect}"

    @contextlib.contextmanager
    def _disk_errors(self):
        try:
            yield
        except errors.EluZooError:
            raise
        except OSError as error:
            raise errors.ResourceError(f"Cannot export to {self._folder()}: {error}") from error


def _check_same_format(paths: Mapping[int, Path], file: str) -> None:
    """Refuses a version of another format, as programs load the highest version."""
    for path in paths.values():
        for other in versions.FILES.values():
            if other != file and (path / other).exists():
                raise errors.UsageError(
                    f"{path} holds {other}, and all versions of a name must have the same format, "
                    f"got {file}. Pass another --export_dir (in Python directory=)."
                )


def _remove_leftovers(folder: Path) -> None:
    """Removes temporary folders of killed exports, which no process has locked."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            with files.locked(path, wait=False) as is_locked:
                if is_locked:
                    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _no_empty_folders(folder: Path):
    """Removes the new folders above the version if the export in the block fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in missing:
                path.rmdir()
        raise
