"""Search and download of the files of an entry.

The files are in the package or in `$ELU_ZOO_HOME`. Missing files are downloaded to
`$ELU_ZOO_HOME` by `hdf5.http_stream`, because keras.utils.get_file and huggingface_hub
limit neither the time nor the size of a download.

A download gets its final name after its SHA-256 was verified. Therefore every file in
`$ELU_ZOO_HOME` is complete, even if several processes download the same file at once.
"""

import contextlib
import dataclasses
import glob
import hashlib
import re
import time
from importlib import resources
from pathlib import Path

from absl import logging

from elu_zoo import errors, files
from elu_zoo.weights import manifest
from elu_zoo.weights.hdf5 import untrusted

# Names of the files that `elu_zoo.layers.statistics_file` writes. An entry does not
# contain the sizes of these files.
_STATISTICS = re.compile(r"[\w-]+_(?:zca|mean)-(?P<sha16>[0-9a-f]{16})")
_STATISTICS_BYTES = 32_000_000
# A temporary file that was not written for an hour belongs to a killed download.
_STALE_SECONDS = 3600.0


@dataclasses.dataclass(frozen=True)
class File:
    """A published file.

    Attributes:
        name: the name of the file, without a folder.
        folder: the folder of downloads, in `$ELU_ZOO_HOME`.
        sha256: the hash in hexadecimal digits, or its first digits.
        size: the size in bytes; None if unknown.
        sources: see `http_stream.chunks`.
    """

    name: str
    folder: Path
    sha256: str
    size: int | None
    sources: tuple[str, ...]

    def find(self) -> Path | None:
        """Returns the unverified path in the package or in `folder`, or None."""
        packaged = Path(str(resources.files("elu_zoo.weights"))) / self.name
        paths = packaged, self.folder / self.name
        return next((path for path in paths if path.is_file()), None)


def files_of(entry: manifest.Entry) -> list[File]:
    """Returns the files of an entry: the weights, and statistics if there are any."""
    sources = tuple(entry["sources"])
    name = entry["tag"] + manifest.SUFFIX
    needed = [File(name, weights_folder(), entry["sha256"], entry["bytes"], sources)]
    statistics = str(entry["preprocessing"].get("statistics"))
    matched = _STATISTICS.fullmatch(statistics)
    if matched:
        folder = files.home() / "statistics"
        name = f"{statistics}.npz"
        needed.append(File(name, folder, matched["sha16"], None, sources))
    return needed


def weights_folder() -> Path:
    """Returns the folder of downloaded weights."""
    return files.home() / "weights"


def ensure(entry: manifest.Entry) -> list[Path]:
    """Returns the paths of `files_of(entry)`, after downloading missing files.

    Existing files are not verified.

    Raises:
        NotFoundError: a file is missing, and the entry has no source.
        ResourceError: no source sent the file, or the file cannot be written.
    """
    return [file.find() or download(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies the statistics beside a weight file into `$ELU_ZOO_HOME`.

    A run's folder that was copied from another machine contains the statistics.

    Args:
        entry: the entry of the weights.
        folder: the folder of the weights.

    Raises:
        CorruptError: the hash of the statistics differs from the hash in their name.
        ResourceError: the copy cannot be written.
    """
    for file in files_of(entry)[1:]:
        path = folder / file.name
        if file.find() or not path.is_file():
            continue
        content = untrusted.read(path, _STATISTICS_BYTES, "a file of statistics")
        actual = files.sha256(content)
        if not actual.startswith(file.sha256):
            raise errors.CorruptError(
                f"{path} is damaged: its SHA-256 is {actual}, expected "
                f"{_digits(file)}. Download the file again."
            )
        try:
            files.write_bytes(file.folder / file.name, content)
        except OSError as error:
            raise _unwritable(file, error) from error


def fetch_weights(pattern: str = "*") -> list[Path]:
    """Downloads published weights that are missing or damaged on this machine.

    Afterwards `get_model` needs no network for these weights.

    Args:
        pattern: part of a tag, or shell wildcards, as in `list_weights`.

    Returns:
        The paths of the weight files, in the order of `list_weights(pattern)`, followed
        by the paths of the statistics.

    Raises:
        UsageError: no tag matches.
        EluZooError: files are missing or damaged. The message names these files; all
            other files are on this machine.

    Example:
        >>> elu_zoo.fetch_weights("mnist_mlp_*")
    """
    listed = manifest.published()
    tags = manifest.list_weights(pattern)
    if not tags:
        models = sorted({f"{entry['model']}.*" for entry in listed.values()})
        raise errors.unknown("weights", pattern, [*models, *manifest.list_weights()])
    groups = [files_of(listed[tag]) for tag in tags]
    all_files = [group[0] for group in groups]
    all_files += [file for group in groups for file in group[1:]]
    paths, failures = [], []
    for file in dict.fromkeys(all_files):
        try:
            paths.append(_undamaged(file))
        except errors.EluZooError as error:
            failures.append(error)
        except OSError as error:
            reason = f"{file.name} cannot be read: {error}. Make the file readable."
            failures.append(errors.ResourceError(reason))
    if len(failures) > 1:
        raise errors.ResourceError(
            f"{len(failures)} of {len(failures) + len(paths)} files are missing. "
            + " ".join(map(str, failures))
        )
    if failures:
        raise failures[0]
    return paths


def _undamaged(file: File) -> Path:
    path = file.find()
    if path is None:
        return download(file)
    actual = files.sha256(path)
    if actual.startswith(file.sha256):
        return path
    if path.parent == file.folder and file.sources:
        return download(file)
    is_downloaded = path.parent == file.folder
    remedy = "Delete the file and download it" if is_downloaded else "Install elu-zoo"
    raise errors.CorruptError(
        f"{path} is damaged or another file: its SHA-256 is {actual}, "
        f"expected {_digits(file)}. {remedy} again."
    )


def download(file: File) -> Path:
    """Downloads a file into its folder, from the first source that sends it.

    Raises:
        NotFoundError: the file has no source.
        ResourceError: no source sent the file, or the folder cannot be written.
    """
    from elu_zoo.weights.hdf5 import http_stream

    _remove_stale(file)
    failures = []
    for source in file.sources:
        try:
            size = _download(source, file)
        except http_stream.SourceError as error:
            failures.append(f"{source}: {error}")
        except OSError as error:
            raise _unwritable(file, error) from error
        else:
            if failures:
                reasons = "; ".join(failures)
                logging.warning("%s was not downloaded from %s.", file.name, reasons)
            logging.info("Downloaded %s, %d bytes, from %s.", file.name, size, source)
            return file.folder / file.name
    missing = f"{file.name} is neither in the package nor in {file.folder}"
    size = "" if file.size is None else f", {file.size} bytes"
    target = f"{file.name} to this folder (SHA-256 {_digits(file)}{size})."
    if not failures:
        raise errors.NotFoundError(f"{missing}, and no source is known. Copy {target}")
    raise errors.ResourceError(
        f"{missing}, and no source sent the file: {'; '.join(failures)}. Without a "
        f"network, copy {target}"
    )


def _download(source: str, file: File) -> int:
    """Downloads a file from one source and returns its size."""
    from elu_zoo.weights.hdf5 import http_stream

    limit = _STATISTICS_BYTES if file.size is None else file.size
    digest, size = hashlib.sha256(), 0
    with (
        files.new_file(file.folder / file.name) as target,
        contextlib.closing(http_stream.chunks(source, file.name, limit)) as chunks,
    ):
        for chunk in chunks:
            size += len(chunk)
            if size > limit:
                raise http_stream.SourceError(f"it sends more than {limit} bytes")
            digest.update(chunk)
            target.write(chunk)
        if file.size is not None and size < file.size:
            raise http_stream.SourceError(f"it ended after {size} of {file.size} bytes")
        if not digest.hexdigest().startswith(file.sha256):
            raise http_stream.SourceError(f"its SHA-256 is {digest.hexdigest()}")
    return size


def _remove_stale(file: File) -> None:
    """Removes temporary files of downloads that were killed."""
    for name in glob.glob(f".{glob.escape(file.name)}.*", root_dir=file.folder):
        path = file.folder / name
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()


def _unwritable(file: File, error: OSError) -> errors.ResourceError:
    return errors.ResourceError(
        f"{file.name} cannot be written to {file.folder}: {error}. Set $ELU_ZOO_HOME "
        "to a writable folder."
    )


def _digits(file: File) -> str:
    return file.sha256 if len(file.sha256) == 64 else f"{file.sha256}..."
