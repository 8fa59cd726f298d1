"""Search and download of the files of an entry.

The files are in the package or in `$ELU_ZOO_HOME`. A download is written after its
SHA-256 was verified, so that every file in `$ELU_ZOO_HOME` is complete.
"""

import dataclasses
import http.client
import re
import urllib.request
from importlib import resources
from pathlib import Path

from absl import logging

from elu_zoo import errors, files
from elu_zoo.weights import manifest, untrusted

# Names of the files that `elu_zoo.layers.statistics_file` writes. An entry does not
# contain the sizes of these files.
_STATISTICS = re.compile(r"[\w-]+_(?:zca|mean)-(?P<sha16>[0-9a-f]{16})")
_STATISTICS_BYTES = 32_000_000
_SILENCE_SECONDS = 10.0  # the longest wait for a server


@dataclasses.dataclass(frozen=True)
class File:
    """A published file.

    Attributes:
        name: the name of the file, without a folder.
        folder: the folder of downloads, in `$ELU_ZOO_HOME`.
        sha256: the hash in hexadecimal digits, or its first digits.
        size: the size in bytes; None if unknown.
        sources: `https://host/folder`, or `hf:owner/repo[@revision]`.
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

    def check(self, content: bytes) -> None:
        """Checks the hash of the file's content."""
        actual = files.sha256(content)
        if not actual.startswith(self.sha256):
            raise errors.CorruptError(
                f"{self.name} is damaged: its SHA-256 is {actual}, expected {self.sha256}. "
                "Download the file again."
            )

    def write(self, content: bytes) -> Path:
        """Writes the file into its folder and returns the path."""
        path = self.folder / self.name
        try:
            files.write_bytes(path, content)
        except OSError as error:
            raise errors.ResourceError(
                f"{path} cannot be written: {error}. Set $ELU_ZOO_HOME to a writable folder."
            ) from error
        return path


def files_of(entry: manifest.Entry) -> list[File]:
    """Returns the files of an entry: the weights, and statistics if there are any."""
    sources = tuple(entry["sources"])
    name = entry["tag"] + manifest.SUFFIX
    needed = [File(name, weights_folder(), entry["sha256"], entry["bytes"], sources)]
    statistics = str(entry["preprocessing"].get("statistics"))
    matched = _STATISTICS.fullmatch(statistics)
    if matched:
        folder = files.home() / "statistics"
        needed.append(File(f"{statistics}.npz", folder, matched["sha16"], None, sources))
    return needed


def weights_folder() -> Path:
    """Returns the folder of downloaded weights."""
    return files.home() / "weights"


def ensure(entry: manifest.Entry) -> list[Path]:
    """Returns the paths of `files_of(entry)`, after downloading missing files.

    Existing files are not verified.
    """
    return [file.find() or download(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies the statistics beside a weight file into `$ELU_ZOO_HOME`.

    The folder of a run on another machine, or of a repository, contains the statistics.
    """
    for file in files_of(entry)[1:]:
        path = folder / file.name
        if path.is_file() and not file.find():
            content = untrusted.read(path, _STATISTICS_BYTES, "a file of statistics")
            file.check(content)
            file.write(content)


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
        EluZooError: a file is missing or damaged and was not downloaded. The files
            before it are on this machine.

    Example:
        >>> elu_zoo.fetch_weights("mnist_mlp_*")
    """
    listed = manifest.published()
    tags = manifest.list_weights(pattern)
    if not tags:
        models = sorted({f"{entry['model']}.*" for entry in listed.values()})
        raise errors.unknown_name_error("weights", pattern, [*models, *manifest.list_weights()])
    groups = [files_of(listed[tag]) for tag in tags]
    all_files = [group[0] for group in groups]
    all_files += [file for group in groups for file in group[1:]]
    return [_undamaged(file) for file in dict.fromkeys(all_files)]


def _undamaged(file: File) -> Path:
    path = file.find()
    if path is None:
        return download(file)
    try:
        actual = files.sha256(path)
    except OSError as error:
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from error
    if actual.startswith(file.sha256):
        return path
    is_downloaded = path.parent == file.folder
    if is_downloaded and file.sources:
        return download(file)
    remedy = "Delete the file and download it" if is_downloaded else "Install elu-zoo"
    raise errors.CorruptError(
        f"{path} is damaged or another file: its SHA-256 is {actual}, expected "
        f"{file.sha256}. {remedy} again."
    )


def download(file: File) -> Path:
    """Downloads a file into its folder, from the first source that sends it."""
    failures = []
    for source in file.sources:
        try:
            content = _content(source, file)
        except (OSError, http.client.HTTPException, ValueError, errors.EluZooError) as error:
            failures.append(f"{source}: {untrusted.printable(str(error), 200)}")
            continue
        logging.info("Downloaded %s, %d bytes, from %s.", file.name, len(content), source)
        return file.write(content)
    missing = f"{file.name} is neither in the package nor in {file.folder}"
    target = f"{file.name} to this folder (SHA-256 {file.sha256})."
    if not failures:
        raise errors.NotFoundError(f"{missing}, and no source is known. Copy {target}")
    raise errors.ResourceError(
        f"{missing}, and no source sent the file: {'; '.join(failures)}. Without a "
        f"network, copy {target}"
    )


def _content(source: str, file: File) -> bytes:
    """Returns the verified content of a file."""
    if source.startswith("hf:"):
        from elu_zoo.weights import hub

        content = files.read(hub.fetch(source) / file.name)
    else:
        limit = _STATISTICS_BYTES if file.size is None else file.size
        url = f"{source.rstrip('/')}/{file.name}"
        with urllib.request.urlopen(url, timeout=_SILENCE_SECONDS) as response:
            content = response.read(limit + 1)
        if len(content) > limit:
            raise ValueError(f"it sends more than {limit} bytes")
    file.check(content)
    return content
