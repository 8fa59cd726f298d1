"""Search and download of the files of an entry.

The files are in the package or in `$ELU_ZOO_HOME`. Missing files are downloaded to
`$ELU_ZOO_HOME` with a limit of time and size, which keras.utils.get_file and
huggingface_hub lack. A download is written after its SHA-256 was verified, so that
every file in `$ELU_ZOO_HOME` is complete.
"""

import dataclasses
import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib import resources
from pathlib import Path

from absl import logging

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.weights import manifest, untrusted

# Names of the files that `elu_zoo.layers.statistics_file` writes. An entry does not
# contain the sizes of these files.
_STATISTICS = re.compile(r"[\w-]+_(?:zca|mean)-(?P<sha16>[0-9a-f]{16})")
_STATISTICS_BYTES = 32_000_000
_SILENCE_SECONDS = 10.0  # the longest wait for one byte
_GRACE_SECONDS = 30.0  # allowed in addition to bytes / _BYTES_PER_SECOND
_BYTES_PER_SECOND = 20_000
_HUB = re.compile(r"hf:([\w.-]+/[\w.-]+)")


@dataclasses.dataclass(frozen=True)
class File:
    """A published file.

    Attributes:
        name: the name of the file, without a folder.
        folder: the folder of downloads, in `$ELU_ZOO_HOME`.
        sha256: the hash in hexadecimal digits, or its first digits.
        size: the size in bytes; None if unknown.
        sources: `https://host/folder`, or `hf:owner/repo` for a repository of the
            Hugging Face Hub.
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
    """
    return [file.find() or download(file) for file in files_of(entry)]


def keep_statistics(entry: manifest.Entry, folder: Path) -> None:
    """Copies the statistics beside a weight file into `$ELU_ZOO_HOME`.

    A run's folder that was copied from another machine contains the statistics.

    Args:
        entry: the entry of the weights.
        folder: the folder of the weights.
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
        raise errors.unknown_name_error("weights", pattern, [*models, *manifest.list_weights()])
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
    """Downloads a file into its folder, from the first source that sends it."""
    failures = []
    for source in file.sources:
        try:
            content = _fetch(source, file)
        except (OSError, http.client.HTTPException, ValueError) as error:
            is_wrapped = type(error) is urllib.error.URLError
            reason = str(error.reason if is_wrapped else error) or type(error).__name__
            reason = untrusted.printable(" ".join(reason.split()), 200)
            failures.append(f"{source}: {reason}")
            continue
        try:
            files.write_bytes(file.folder / file.name, content)
        except OSError as error:
            raise _unwritable(file, error) from error
        if failures:
            reasons = "; ".join(failures)
            logging.warning("%s was not downloaded from %s.", file.name, reasons)
        logging.info("Downloaded %s, %d bytes, from %s.", file.name, len(content), source)
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


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Follows redirections without reading their bodies, which urllib would read."""

    def redirect_request(self, request, response, code, message, headers, url):
        response.close()
        if not url.startswith(("https://", "http://")):
            raise ValueError(f"it redirects to {url}")
        return super().redirect_request(request, response, code, message, headers, url)


def _fetch(source: str, file: File) -> bytes:
    """Returns the verified content of a file; only the time of the body is limited."""
    limit = _STATISTICS_BYTES if file.size is None else file.size
    begun, content = time.monotonic(), bytearray()
    opener = urllib.request.build_opener(_Redirections())
    request = _request(source, file.name)
    with opener.open(request, timeout=_SILENCE_SECONDS) as response:
        while chunk := response.read1(1 << 16):
            content += chunk
            if len(content) > limit:
                raise ValueError(f"it sends more than {limit} bytes")
            seconds = time.monotonic() - begun
            if seconds > _GRACE_SECONDS + len(content) / _BYTES_PER_SECOND:
                raise ValueError(f"too slow: {len(content)} bytes in {seconds:.0f} s")
    if file.size is not None and len(content) < file.size:
        raise ValueError(f"it ended after {len(content)} of {file.size} bytes")
    if not (actual := files.sha256(content)).startswith(file.sha256):
        raise ValueError(f"its SHA-256 is {actual}")
    return bytes(content)


def _request(source: str, name: str) -> urllib.request.Request:
    headers = {"User-Agent": f"elu_zoo/{elu_zoo.__version__}"}
    if not (repository := _HUB.fullmatch(source)):
        if not source.startswith(("https://", "http://")):
            raise ValueError("a source must be https://host/folder or hf:owner/repo")
        url = f"{source.rstrip('/')}/{urllib.parse.quote(name)}"
        return urllib.request.Request(url, headers=headers)
    try:
        from huggingface_hub import constants, get_token, hf_hub_url
    except ImportError:
        raise ValueError('huggingface_hub is not installed: pip install "elu-zoo[hub]"') from None
    if constants.HF_HUB_OFFLINE:
        raise ValueError("$HF_HUB_OFFLINE is set")
    request = urllib.request.Request(hf_hub_url(repository[1], name), headers=headers)
    if (token := get_token()) and not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        # The hub redirects to other hosts, which must not receive the token.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    return request


def _unwritable(file: File, error: OSError) -> errors.ResourceError:
    return errors.ResourceError(
        f"{file.name} cannot be written to {file.folder}: {error}. Set $ELU_ZOO_HOME "
        "to a writable folder."
    )


def _digits(file: File) -> str:
    return file.sha256 if len(file.sha256) == 64 else f"{file.sha256}..."
