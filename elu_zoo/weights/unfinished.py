"""Error for the folder of an unfinished run, with the progress of the run."""

from pathlib import Path

from elu_zoo import errors, files


def check(folder: Path) -> None:
    """Checks that a folder without weights is not the folder of an unfinished run."""
    names = [path.name for path in folder.glob("checkpoints/step-*")]
    # A file that had the name of a checkpoint was renamed to step-<number>.moved.
    steps = [name[5:] for name in names if name[5:].isdecimal()]
    if not steps:
        return
    stopped = int(max(steps))
    total = _iterations(folder / "timing.jsonl")
    of_total = f" of {total:,}" if total else ""
    raise errors.UsageError(
        f"The run in {folder} is not finished and has no weights yet: it stopped after "
        f"{stopped:,}{of_total} iterations. Run the same command again to resume it."
    )


def _iterations(path: Path) -> int | None:
    """Returns the iterations of the run, from the last row that has them, or None."""
    try:
        rows = files.read_rows(path)
        lengths = [row["iterations"] for row in rows if "iterations" in row]
    except (OSError, errors.CorruptError, TypeError):
        return None
    return lengths[-1] if lengths else None
