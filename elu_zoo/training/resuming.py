"""How a folder's run goes on: after a stop, after a fault, with a changed config."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import Signals

from absl import logging
from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data.dataset import ImageData
from elu_zoo.training.config import as_dict, differences
from elu_zoo.weights.manifest import Entry


def changes(workdir: Path, config: ConfigDict, allowed: bool) -> list[str]:
    """Returns in what the config differs from the one that the folder's run had.

    What a checkpoint holds decides; this is to refuse before any work.

    Raises:
        UsageError: it does, and may not.
        CorruptError: the folder's config cannot be read.
    """
    path = workdir / "config.json"
    if not path.is_file():
        return []
    try:
        old = json.loads(path.read_text())
        changed = differences(old, as_dict(config))
    except (ValueError, AttributeError) as error:
        raise errors.CorruptError(
            f"{path} is damaged: {error}. Delete it: checkpoints know their config."
        ) from None
    check_changes(changed, allowed, workdir)
    return changed


def check_changes(changed: list[str], allowed: bool, workdir: Path) -> None:
    """Checks that a run may go on with these changes of its config.

    Raises:
        UsageError: it may not.
    """
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


def check_images(known: str, found: str, workdir: Path) -> None:
    """Checks that the images are those of the folder's run, by their names.

    Raises:
        DataError: they are not.
    """
    if found != known:
        raise errors.DataError(
            f"The images are not those with which {workdir} began: it has {known}, "
            f"found are {found}. Files were added, removed or changed. Bring them "
            "back, or name another --workdir."
        )


def check_finished(
    finished: Entry, workdir: Path, load: Callable[[], ImageData]
) -> None:
    """Checks that the images of a finished run are those on the disk, if any are.

    Raises:
        DataError: they are others.
    """
    if "images" not in finished:  # an entry of an earlier version
        return
    try:
        found = load().images
    except (errors.DataError, errors.UsageError) as error:
        # Deleted, say: the weights are there all the same.
        logging.warning(
            "The images are not compared with those of the finished run: %s", error
        )
        return
    check_images(finished["images"], found, workdir)


@contextlib.contextmanager
def resumable(workdir: Path) -> Iterator[None]:
    """Says of an error of the system that it costs nothing that was saved."""
    try:
        yield
    except errors.EluZooError:  # some of which are errors of the system too
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"Training in {workdir} cannot go on: {error}. Checkpoints are intact. "
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
