"""Search and download of the files of an entry.

The files are in the package or in `$ELU_ZOO_HOME`; only a clone has large files, in parts. Every
file in its folders weights and statistics is complete, written after the check of its SHA-256.
"""

import dataclasses
import re
from importlib import resources
from pathlib import Path

from absl import logging

from elu_zoo import errors, files
from elu_zoo.weights import manifest, untrusted

_STATISTICS = re.compile(r"[\w-]+_(?:zca|mean)-(?P<sha16>[0-9a-f]{16})")  # of statistics_file


@dataclasses.dataclass(frozen=True)
class File:
    """A published file."""

    name: str  # without a folder
    folder: Path  # of downloads, in `$ELU_ZOO_HOME`
    sha256: str  # in hexadecimal digits, or its first digits
    sources: tuple[str, ...]  # repositories of the Hugging Face Hub, `hf:owner/repo[@revision]`

    def find(self) -> Path | None:
        """Returns the unverified path in the package, in `folder` or in its `received`, or None."""
        packaged = Path(str(resources.files("elu_zoo.weights"))) / "files"
        folders = packaged, self.folder, self.folder / "received"
        return next((p for folder in folders if (p := folder / self.name).is_file()), None)

    def parts(self) -> list[Path]:
        """Returns the unverified parts of a large file, which only a clone has."""
        large = Path(str(resources.files("elu_zoo.weights"))) / "large"
        return sorted(large.glob(f"{self.name}.part[1-9]"))

    def write(self, content: bytes, origin: str = "") -> Path:
        """Checks the hash of the file's content and writes it into its folder."""
        untrusted.check_hash(content, self.sha256, origin or self.name)
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
    needed = [File(name, folder, entry["sha256"], sources)]
    statistics = str(entry["preprocessing"].get("statistics"))
    if matched := _STATISTICS.fullmatch(statistics):
        name, folder = f"{statistics}.npz", files.home() / "statistics"
        needed.append(File(name, folder, matched["sha16"], sources))
    return needed


def ensure(entry: manifest.Entry) -> list[Path]:
    """Returns the unverified paths of `files_of(entry)`; joins or downloads missing files."""
    return [file.find() or get(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies the statistics beside a weight file into `$ELU_ZOO_HOME`, for this name only."""
    for file in files_of(entry)[1:]:
        path, received = folder / file.name, file.folder / "received"  # which training ignores
        if path.is_file() and not file.find():
            content = untrusted.read(path, 1 << 27, "a file of statistics")
            dataclasses.replace(file, folder=received).write(content)


def fetch_weights(pattern: str = "*") -> list[Path]:
    """Downloads published weights that are missing or damaged on this machine.

    Afterwards `get_model` needs no network for these weights.

    Args:
        pattern: part of a tag, or shell wildcards, as in `list_weights`.

    Returns:
        The paths of the weight files, in the order of `list_weights(pattern)`, then of statistics.

    Raises:
        UsageError: no tag matches.
        EluZooError: a file is missing or damaged and cannot be obtained. Earlier files are kept.

    Example:
        >>> elu_zoo.fetch_weights("mnist_mlp_*")
    """
    listed, tags = manifest.published(), manifest.list_weights(pattern)
    if not tags:
        models = sorted({f"{entry['model']}.*" for entry in listed.values()})
        raise errors.unknown_name_error("weights", pattern, [*models, *manifest.list_weights()])
    needed = dict.fromkeys(file for tag in tags for file in files_of(listed[tag]))
    weights_first = sorted(needed, key=lambda file: file.name.endswith(".npz"))
    return [_undamaged(file) for file in weights_first]


def _undamaged(file: File) -> Path:
    if path := file.find():
        try:
            untrusted.check_hash(path, file.sha256, file.name)
            return path
        except errors.CorruptError:
            if path.parent != file.folder or not (file.sources or file.parts()):
                raise
    return get(file)


def get(file: File) -> Path:
    """Joins the parts of a file, or downloads it from the first repository that has it."""
    if parts := file.parts():
        origin = f"{file.name} of its parts ('git checkout {parts[0].parent}' restores them)"
        return file.write(b"".join(map(files.read, parts)), origin)
    from elu_zoo.weights import hub

    failures = []
    for source in file.sources:
        try:
            path = file.write(files.read(hub.snapshot(source, [file.name]) / file.name))
        except (OSError, errors.EluZooError) as error:
            failures.append(f"{source}: {errors.printable(str(error), 300)}")
        else:
            logging.info("Downloaded %s from %s.", file.name, source)
            return path
    kind = errors.ResourceError if failures else errors.NotFoundError
    raise kind(
        f"{file.name} is neither in the package nor in {file.folder}, and no repository sent "
        f"it: {'; '.join(failures) or 'none is known'}. Copy {file.name} to this folder "
        f"(SHA-256 {file.sha256}). Large files are only in a clone: pip install -e <clone>."
    )
