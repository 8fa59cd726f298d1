"""A new version of an export: what it may replace, and how it appears, whole."""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from absl import logging

from elu_zoo import errors, files
from elu_zoo.export import origin, versions
from elu_zoo.weights import provenance


@dataclasses.dataclass(frozen=True)
class Target:
    """A version that an export writes.

    Attributes:
        directory: the base of all exports; made when it does not exist.
        name: the model's name under a server.
        file: which of `SAVED_MODEL`, `ONNX` and `LITERT` the version will hold.
        version: as of `versions.new_version`.
        source: where the model comes from, see `origin.of_weights`; None of a model
            of which nothing is known.
        replace: whether the name may have a highest version of another model, see
            `provenance.is_same`.
    """

    directory: str | os.PathLike
    name: str
    file: str
    version: int | None = None
    source: Mapping[str, Any] | None = None
    replace: bool = False

    def check(self) -> None:
        """Checks that the version can be written, before the work for it starts.

        Raises:
            UsageError: a name that no server can carry, a version that cannot be
                written, a folder with versions that servers would take for this one's,
                or with a highest version of another model, unless `replace`.
            ResourceError: the disk refused.
        """
        versions.check_name(self.name)
        with self._disk_errors():
            self._replaced(self._path())

    @contextlib.contextmanager
    def written(self) -> Iterator[tuple[Path, Path]]:
        """Yields the version's path and a temporary folder that becomes it.

        When the block raises, nothing is left of it, nor of the folders above. A
        version of another model that servers take until then is named in the log.

        Raises:
            UsageError, ResourceError: as `check`, at the start and again before the
                version appears: another export may have come first.
        """
        self.check()
        folder = Path(self.directory, self.name)
        with self._disk_errors(), _no_empty_folders(folder):
            path = self._path()
            _remove_leftovers(folder)
            with contextlib.ExitStack() as until_it_appears:
                with files.new_directory(path) as temporary:
                    until_it_appears.enter_context(_locked(temporary))
                    yield path, temporary
                    until_it_appears.enter_context(_locked(folder))
                    versions.new_version(folder, int(path.name))
                    replaced = self._replaced(path)
        if replaced:
            logging.warning("%s", replaced)

    def _path(self) -> Path:
        return versions.new_version(Path(self.directory, self.name), self.version)

    def _replaced(self, path: Path) -> str:
        """Returns one line about the other model under this name; "" of none.

        Raises:
            UsageError: there is one that may not be replaced.
        """
        known = versions.versions(path.parent)
        _check_same_kind(known, self.file)
        if not known:
            return ""
        highest, number = max(known), int(path.name)
        served = origin.read(known[highest])
        if provenance.is_same(served, self.source):
            return ""
        takes_over = number > highest
        if not self.replace:
            effect = "be served in its place" if takes_over else "lie below it"
            old, new = provenance.text(served), provenance.text(self.source)
            raise errors.UsageError(
                f"{known[highest]} holds another model: {old}. Version {number} ({new})"
                f" would {effect}. Pass --name=<another name> to keep them apart, or "
                "--replace to go on (in Python name= and replace=True)."
            )
        old, new = provenance.label(served), provenance.label(self.source)
        if takes_over:
            did = f"replaces version {highest}: {old} -> {new}"
        else:
            did = f"is {new}; servers go on taking version {highest}: {old}"
        return f"version {number} of {self.name} {did}"

    @contextlib.contextmanager
    def _disk_errors(self):
        try:
            yield
        except errors.EluZooError:
            raise
        except OSError as error:
            folder = Path(self.directory, self.name)
            raise errors.ResourceError(f"Cannot export to {folder}: {error}") from error


def _check_same_kind(known: Mapping[int, Path], file: str) -> None:
    """Refuses a SavedModel among versions of another format, and the reverse.

    A server takes the highest version, and fails when it is no SavedModel.
    """
    of_servers = file == versions.SAVED_MODEL
    others = (versions.ONNX, versions.LITERT) if of_servers else (versions.SAVED_MODEL,)
    for path in known.values():
        for other in others:
            if (path / other).exists():
                raise errors.UsageError(
                    f"{path} holds {other}, and {file} may not lie among its versions: "
                    "a server takes the highest, whatever it is. Name another "
                    "directory."
                )


def _remove_leftovers(folder: Path) -> None:
    """Removes temporary folders of killed exports, whose locks are free."""
    for path in folder.glob(".[0-9]*.????????"):
        with contextlib.suppress(OSError), _locked(path, wait=False) as held:
            if held:
                shutil.rmtree(path)


@contextlib.contextmanager
def _locked(folder: Path, wait: bool = True):
    """Holds a folder's lock, and yields whether it is held.

    The lock keeps other exports from adding a version at the same time, and from
    removing a temporary folder. Windows and some network file systems have no locks.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY)
    held = False
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            held = True
        yield held
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _no_empty_folders(folder: Path):
    """Removes the folders above the version again when the export fails."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()
        raise
