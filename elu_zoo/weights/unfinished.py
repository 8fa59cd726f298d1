"""Checkpoints in the folder of a run, as errors and messages state them."""

from pathlib import Path


def checkpoints(folder: Path) -> list[Path]:
    """Returns the paths of a run's checkpoints, the newest first."""
    return sorted(folder.glob(f"checkpoints/step-{'[0-9]' * 9}.npz"), reverse=True)


def newest_step(folder: Path) -> int | None:
    """Returns the iteration of a run's newest checkpoint, None without checkpoints."""
    return next((int(path.stem[5:]) for path in checkpoints(folder)), None)


def kept(folder: Path) -> str:
    """Returns a sentence on the checkpoint from which a run would resume."""
    if (step := newest_step(folder)) is None:
        return f"{folder} has no checkpoint: the same command trains from the start."
    return f"The checkpoint of iteration {step} is kept: the same command resumes {folder} from it."
