"""Weight files that a user names by a path: a file, or the folder of a finished run."""

from pathlib import Path

from elu_zoo import errors, files
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
        # The folder of a published run lacks what was measured later.
        listed = manifest.published().get(entry["tag"], {})
        entry |= {k: v for k, v in listed.items() if k == "calibration" and "temperature" in v}
        fetch.keep_statistics(entry, path.parent)
        return path, entry
    except errors.EluZooError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError for an unknown ~user
        raise errors.ResourceError(f"{path} cannot be read: {error}.") from None


def _weight_file(path: Path) -> Path:
    if (outcome := path / "outcome.json").is_file():  # the folder of a finished run
        return path / (manifest.read(outcome)["tag"] + manifest.SUFFIX)
    if not path.is_dir():
        return path
    candidates = sorted(path.glob("*" + manifest.SUFFIX))
    if len(candidates) == 1:
        return candidates[0]
    if not candidates and (unfinished.checkpoints(path) or (path / "config.json").is_file()):
        raise errors.UsageError(
            f"The run in {path} is not finished and has no weights yet. {unfinished.kept(path)}"
        )
    inside = _weights_in(path)
    raise errors.UsageError(
        f"{path} is a folder with {len(candidates)} weight files; expected the folder of a "
        "finished training run, which has one weight file, or a weight file. "
        + (_nearby(path) if inside.endswith(": none.") else inside)
    )


def _nearby(path: Path) -> str:
    """Returns a name like the first missing part of a path, and the weights beside that part."""
    part = next((p for p in (*reversed(path.parents), path) if not p.exists()), path)
    return files.similar(part) + _weights_in(part.parent)


def _weights_in(folder: Path) -> str:
    """Returns a sentence on the weight files in a folder, and on runs in it."""
    names = [p.name for p in folder.glob("*") if p.name.endswith((manifest.SUFFIX, hdf5.KERAS))]
    runs = {p.parent.name for p in folder.glob(f"*/*{manifest.SUFFIX}")}
    return f"Weights in {folder}: {errors.listed(sorted(names) + sorted(runs)) or 'none'}."
