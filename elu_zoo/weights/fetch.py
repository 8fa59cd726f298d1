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
        size: the largest size in bytes.
        sources: `https://host/folder`, or `hf:owner/repo[@revision]`.
    """

    name: str
    folder: Path
    sha256: str
    size: int
    sources: tuple[str, ...]

    def find(self) -> Path | None:
        """Returns the unverified path in the package or in `folder`, or None."""
        packaged = Path(str(resources.files("elu_zoo.weights"))) / "files" / self.name
        return next((p for p in (packaged, self.folder / self.name) if p.is_file()), None)

    def check(self, content: bytes | Path) -> None:
        """Checks the hash of the file's content, or of the file at a path."""
        if not (actual := files.sha256(content)).startswith(self.sha256):
            raise errors.CorruptError(
                f"{self.name} is damaged or another file: its SHA-256 is {actual}, expected "
                f"{self.sha256}. Delete it and download it again, or install elu-zoo again."
            )

    def write(self, content: bytes) -> Path:
        """Writes the file into its folder, after a check of its hash; returns the path."""
        self.check(content)
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
    name, folder = entry["tag"] + manifest.SUFFIX, files.home() / "weights"
    needed = [File(name, folder, entry["sha256"], entry["bytes"], sources)]
    statistics = str(entry["preprocessing"].get("statistics"))
    if matched := _STATISTICS.fullmatch(statistics):
        name, folder = f"{statistics}.npz", files.home() / "statistics"
        needed.append(File(name, folder, matched["sha16"], _STATISTICS_BYTES, sources))
    return needed


def ensure(entry: manifest.Entry) -> list[Path]:
    """Returns the unverified paths of `files_of(entry)`; downloads missing files."""
    return [file.find() or _download(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies the statistics beside a weight file into `$ELU_ZOO_HOME`."""
    for file in files_of(entry)[1:]:
        path = folder / file.name
        if path.is_file() and not file.find():
            file.write(untrusted.read(path, file.size, "a file of statistics"))


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
    needed = dict.fromkeys(file for tag in tags for file in files_of(listed[tag]))
    weights_first = sorted(needed, key=lambda file: file.name.endswith(".npz"))
    return [_undamaged(file) for file in weights_first]


def _undamaged(file: File) -> Path:
    path = file.find()
    if path is None:
        return _download(file)
    try:
        file.check(path)
    except errors.CorruptError:
        if path.parent != file.folder or not file.sources:
            raise
        return _download(file)
    return path


def _download(file: File) -> Path:
    """Downloads a file into its folder, from the first source that sends it."""
    failures = []
    for source in file.sources:
        try:
            content = _content(source, file)
            file.check(content)
        except (OSError, http.client.HTTPException, ValueError, errors.EluZooError) as error:
            failures.append(f"{source}: {untrusted.printable(str(error), 200)}")
        else:
            logging.info("Downloaded %s from %s.", file.name, source)
            return file.write(content)
    kind = errors.ResourceError if failures else errors.NotFoundError
    raise kind(
        f"{file.name} is neither in the package nor in {file.folder}, and no source sent it: "
        f"{'; '.join(failures) or 'none is known'}. Copy {file.name} to this folder (SHA-256 "
        f"{file.sha256})."
    )


def _content(source: str, file: File) -> bytes:
    if source.startswith("hf:"):
        from elu_zoo.weights import hub

        return files.read(hub.fetch(source) / file.name)
    url = f"{source.rstrip('/')}/{file.name}"
    with urllib.request.urlopen(url, timeout=_SILENCE_SECONDS) as response:
        content = response.read(file.size + 1)
    if len(content) > file.size:
        raise ValueError(f"it sends more than {file.size} bytes")
    return content
