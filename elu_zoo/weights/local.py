"""Weight files that a user names by a path: a file, or the folder of a finished run."""

import collections
import os
from pathlib import Path

from elu_zoo import errors
from elu_zoo.weights import fetch, hdf5, manifest, unfinished


def with_entry(path: Path) -> tuple[Path, manifest.Entry | None]:
    """Returns a weight file, and its entry or None, from its path or that of its folder."""
    try:
        path = _weight_file(path.expanduser())
        if not path.exists():
            raise errors.NotFoundError(f"There is no file {path}. {_nearby(path)}")
        hdf5.check_name(path)
        entry_path = path.with_name(path.name.removesuffix(manifest.SUFFIX) + ".json")
        if not entry_path.is_file():
            return path, None
        entry = manifest.read(entry_path)
        fetch.keep_statistics(entry, path.parent)
        return path, entry
    except errors.EluZooError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError for an unknown ~user
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None


def _weight_file(path: Path) -> Path:
    outcome = path / "outcome.json"
    if outcome.is_file():  # the folder of a finished run
        return path / (manifest.read(outcome)["tag"] + manifest.SUFFIX)
    if not path.is_dir():
        return path
    candidates = sorted(path.glob("*" + manifest.SUFFIX))
    if not candidates:
        unfinished.raise_if_unfinished(path)
    if len(candidates) != 1:
        raise errors.UsageError(
            f"{path} is a folder with {len(candidates)} weight files; expected the folder of "
            "a finished training run, which has one weight file, or a weight file. "
            f"{_nearby(path)}"
        )
    return candidates[0]


def _nearby(path: Path) -> str:
    """Returns a similar path and the weights beside a path, for messages."""
    folder = next((p for p in path.parents if p != p.parent and p.is_dir()), path.parent)
    if not os.access(folder, os.R_OK):  # The folder may be missing.
        return f"Weights in {folder}: none."
    names = sorted(p.name for p in folder.iterdir() if p != path)
    # runs/<run>, and the default runs/<config>/<run>
    below = [p for level in ("*", "*/*") for p in folder.glob(f"{level}/*{manifest.SUFFIX}")]
    counts = collections.Counter(str(p.parent.relative_to(folder)) for p in below)
    weights = [name for name in names if name.endswith((manifest.SUFFIX, hdf5.KERAS))]
    weights += sorted(name for name, count in counts.items() if count == 1)
    prefix = "" if folder == Path() else f"{folder}{os.sep}"
    closest = errors.did_you_mean(path.relative_to(folder), [*names, *weights], prefix)
    return f"{closest}Weights in {folder}: {errors.listed(weights) or 'none'}."
