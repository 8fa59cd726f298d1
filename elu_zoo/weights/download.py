"""The files of an entry: in the package, in `$ELU_ZOO_HOME`, or downloaded to it.

Neither keras.utils.get_file nor huggingface_hub limits a download's time and size: a
source that is silent, slow or endless blocks them, so `hdf5.http_stream` downloads.

A file gets its name after its SHA-256 was compared with the manifest's, so that every
file in `$ELU_ZOO_HOME` is whole, also when several processes download it at once.
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

# Names as `elu_zoo.layers.statistics_file` makes them; entries hold no sizes of them.
_STATISTICS = re.compile(r"[\w-]+_(?:zca|mean)-(?P<sha16>[0-9a-f]{16})")
_STATISTICS_BYTES = 32_000_000
_STALE_SECONDS = 3600.0  # since the last write of a download that still runs


@dataclasses.dataclass(frozen=True)
class File:
    """A published file: its name, its hash and where it comes from.

    Attributes:
        name: of the file, in every folder.
        folder: in `$ELU_ZOO_HOME`, for a file that is not in the package.
        sha256: in hexadecimal, or its first digits.
        size: in bytes; None where it is not known.
        sources: see `http_stream.chunks`.
    """

    name: str
    folder: Path
    sha256: str
    size: int | None
    sources: tuple[str, ...]

    def find(self) -> Path | None:
        """Returns the path of the file on this machine, unverified; None without it."""
        carried = Path(str(resources.files("elu_zoo.weights"))) / self.name
        places = carried, self.folder / self.name
        return next((path for path in places if path.is_file()), None)

    def is_at(self, path: Path) -> bool:
        """Whether the file at a path has the expected hash."""
        return files.sha256(path).startswith(self.sha256)


def files_of(entry: manifest.Entry) -> list[File]:
    """Returns the files that an entry needs: the weights, then any statistics."""
    sources = tuple(entry["sources"])
    name = entry["tag"] + manifest.SUFFIX
    found = [
        File(name, weights_folder(), entry["sha256"], entry["bytes"], sources),
    ]
    statistics = str(entry["preprocessing"].get("statistics"))
    matched = _STATISTICS.fullmatch(statistics)
    if matched:
        folder = files.home() / "statistics"
        name = f"{statistics}.npz"
        found.append(File(name, folder, matched["sha16"], None, sources))
    return found


def weights_folder() -> Path:
    """Returns the folder of downloaded weights."""
    return files.home() / "weights"


def ensure(entry: manifest.Entry) -> list[Path]:
    """Returns the paths of an entry's files, after downloading those that are missing.

    Args:
        entry: of the manifest.

    Returns:
        The path of each of `files_of(entry)`. Files that were there are not verified.

    Raises:
        NotFoundError: a file is not on this machine, and the entry names no source.
        ResourceError: no source sent the file, or it cannot be written.
    """
    return [file.find() or download(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies statistics that lie beside weights to where they are looked for.

    A run's folder from another machine brings them.

    Args:
        entry: of the weights.
        folder: of the weights.

    Raises:
        CorruptError: the hash of the file is not the one in its name.
        ResourceError: the copy cannot be written.
    """
    for file in files_of(entry)[1:]:
        path = folder / file.name
        if file.find() or not path.is_file():
            continue
        content = untrusted.read(path, _STATISTICS_BYTES, "a file of statistics")
        found = files.sha256(content)
        if not found.startswith(file.sha256):
            raise errors.CorruptError(
                f"{path} is damaged: its SHA-256 is {found}, expected "
                f"{_digits(file)}. Get it again, from where the weights came."
            )
        try:
            files.write_bytes(file.folder / file.name, content)
        except OSError as error:
            raise _unwritable(file, error) from error


def fetch_weights(pattern: str = "*") -> list[Path]:
    """Downloads published weights, unless they are on this machine and undamaged.

    Files that are in neither the package nor `$ELU_ZOO_HOME`, and damaged files in
    `$ELU_ZOO_HOME`, are downloaded from the sources that the manifest names. Afterwards
    `get_model` needs no network for these weights.

    Args:
        pattern: as of `list_weights`: part of a tag, or shell wildcards.

    Returns:
        The weight files, in the order of `list_weights(pattern)`, then the files of
        statistics that they name.

    Raises:
        UsageError: no tag matches.
        EluZooError: files are missing or damaged, which the message names; all other
            files are on this machine.

    Example:
        >>> elu_zoo.fetch_weights("mnist_mlp_*")
    """
    listed = manifest.published()
    tags = manifest.list_weights(pattern)
    if not tags:
        models = sorted({f"{entry['model']}.*" for entry in listed.values()})
        raise errors.unknown("weights", pattern, [*models, *manifest.list_weights()])
    of_tags = [files_of(listed[tag]) for tag in tags]
    wanted = [found[0] for found in of_tags]
    wanted += [file for found in of_tags for file in found[1:]]
    paths, failures = [], []
    for file in dict.fromkeys(wanted):
        try:
            paths.append(_undamaged(file))
        except (errors.EluZooError, OSError) as error:
            failures.append(error)
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
    if file.is_at(path):
        return path
    if path.parent == file.folder and file.sources:
        return download(file)  # replaces the damaged file at its end
    remedy = "Delete it and get it" if path.parent == file.folder else "Install elu-zoo"
    raise errors.CorruptError(
        f"{path} is damaged or another file: its SHA-256 is {files.sha256(path)}, "
        f"expected {_digits(file)}. {remedy} again."
    )


def download(file: File) -> Path:
    """Downloads a file into its folder, from the first source that sends it.

    Raises:
        NotFoundError: the file has no sources.
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
                logging.warning("%s did not come from %s.", file.name, reasons)
            logging.info("Downloaded %s, %d bytes, from %s.", file.name, size, source)
            return file.folder / file.name
    missing = f"{file.name} is neither in the package nor in {file.folder}"
    size = "" if file.size is None else f", {file.size} bytes"
    by_hand = f"Put {file.name} there (SHA-256 {_digits(file)}{size})."
    if not failures:
        raise errors.NotFoundError(f"{missing}, and no source is known. {by_hand}")
    raise errors.ResourceError(
        f"{missing}, and no source gave it: {'; '.join(failures)}. Without a network: "
        f"{by_hand}"
    )


def _download(source: str, file: File) -> int:
    """Downloads a file from one source, and returns its size."""
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
        "to a folder that can."
    )


def _digits(file: File) -> str:
    return file.sha256 if len(file.sha256) == 64 else f"{file.sha256}..."
