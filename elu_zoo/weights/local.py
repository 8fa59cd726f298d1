"""Weight files that a user names by a path: a file, or the folder of a finished run."""

from pathlib import Path

from elu_zoo import errors
from elu_zoo.registry import ModelEntry
from elu_zoo.weights import fetch, hdf5, manifest, unfinished, untrusted, unverified


def find(
    path: Path, registered: ModelEntry, allow_unverified: bool, warns: bool
) -> tuple[Path, manifest.Entry | None, unverified.Saved | None]:
    """Returns the file of a path, and its entry or what a file without an entry states."""
    try:
        path, entry = with_entry(path.expanduser())
        saved = None if entry else unverified.find(path, registered, allow_unverified, warns)
        return path, entry, saved
    except errors.EluZooError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError for an unknown ~user
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None


def check_exists(path: Path) -> None:
    """Checks that there is a weight file or an entry."""
    try:
        path = _weight_file(path.expanduser())
        exists = path.exists() or _entry_path(path).is_file()
    except errors.EluZooError:
        raise
    except (OSError, RuntimeError):  # `find` reports a path that cannot be read.
        return
    if not exists:
        raise hdf5.not_found(path)


def with_entry(path: Path) -> tuple[Path, manifest.Entry | None]:
    """Returns a weight file, and its entry or None, from its path or that of its folder."""
    path = _weight_file(path)
    if path.exists():
        hdf5.check_name(path)
        untrusted.check_regular(path)
    entry_path = _entry_path(path)
    if entry_path.is_file():
        entry = manifest.read(entry_path)
        fetch.keep_statistics(entry, path.parent)
        return path, entry
    if not path.exists():
        raise hdf5.not_found(path)
    return path, None


def _weight_file(path: Path) -> Path:
    """Returns the path of a weight file from its path or the path of its folder."""
    outcome = path / "outcome.json"
    if outcome.is_file():  # the folder of a finished run
        path = path / (manifest.read(outcome)["tag"] + manifest.SUFFIX)
    if path.is_dir():
        candidates = sorted(path.glob("*" + manifest.SUFFIX))
        if not candidates:
            unfinished.raise_if_unfinished(path)
        if len(candidates) != 1:
            runs = sorted({str(p.parent) for p in path.glob(f"*/*{manifest.SUFFIX}")})
            hint = f"Perhaps you mean one of {', '.join(runs[:5])}."
            raise errors.UsageError(
                f"{path} is a folder with {len(candidates)} weight files; expected the "
                "folder of a finished training run, which has one weight file, or a "
                f"weight file. {hint if runs else hdf5.nearby(path)}"
            )
        path = candidates[0]
    return path


def _entry_path(path: Path) -> Path:
    """Returns the path of the entry beside a weight file."""
    return path.with_name(path.name.removesuffix(manifest.SUFFIX) + ".json")
