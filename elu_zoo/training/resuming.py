"""How a folder's run goes on: after a stop, after a fault, with a changed config."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from signal import Signals

from ml_collections import ConfigDict

from elu_zoo import errors, files
from elu_zoo.training import settings


def changes(workdir: Path, config: ConfigDict, allowed: bool) -> list[str]:
    """Returns in what the config differs from the one that the folder's run had.

    Raises:
        UsageError: it does, and may not.
    """
    path = workdir / "config.json"
    if not path.is_file():
        return []
    try:
        old = json.loads(path.read_text())
    except ValueError as error:
        raise errors.CorruptError(f"{path} is damaged: {error}.") from None
    changed = settings.differences(old, settings.as_dict(config))
    if changed and not allowed:
        raise errors.UsageError(
            f"{workdir} belongs to another config: {'; '.join(changed)}. Name "
            "another --workdir, or go on with this one by --allow_config_change."
        )
    for change in changed:
        if change.startswith(("data.", "train.batch_size:")):
            raise errors.UsageError(
                f"{change} changes what an epoch is; a run cannot go on with it. Name "
                "another --workdir."
            )
    return changed


def adopt(workdir: Path, config: ConfigDict) -> list[str]:
    """Makes the changed config the folder's own; what was finished no longer is.

    After the first checkpoint of it: a run that is killed before goes on from the old
    one, of the old config.

    Returns:
        The changes that remain: none.
    """
    (workdir / "outcome.json").unlink(missing_ok=True)
    files.write_json(workdir / "config.json", settings.as_dict(config))
    return []


@contextlib.contextmanager
def resumable(workdir: Path) -> Iterator[None]:
    """Says of an error of the system that it costs nothing that was saved."""
    try:
        yield
    except errors.EluZooError:  # some of which are errors of the system too
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"Training in {workdir} cannot go on: {error}. Its checkpoints are intact. "
            "Mend that, and run the same command again to resume."
        ) from error


def interrupted(
    stopped: int, step: int, total: int, workdir: Path
) -> errors.Interrupted:
    """Returns the error with which a run leaves after a signal."""
    return errors.Interrupted(
        f"{Signals(stopped).name} after iteration {step} of {total}: saved. "
        f"Run the same command again to resume {workdir}."
    )
