"""Resuming a folder's run: its lock, and checks of its config and images."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData
from elu_zoo.training.config import differences
from elu_zoo.weights.manifest import Entry


def check_config(workdir: Path, config: dict[str, Any], allowed: bool) -> None:
    """Compares a config with the folder's config.json, before any work.

    `TrainState.restored` compares it with the checkpoint later.

    Raises:
        UsageError: the configs differ, and `allowed` is False.
        CorruptError: config.json cannot be read.
    """
    path = workdir / "config.json"
    if not path.is_file():
        return
    try:
        changed = differences(json.loads(path.read_text()), config)
    except (ValueError, AttributeError) as error:
        raise errors.CorruptError(
            f"{path} is damaged: {error}. Delete it: checkpoints hold the config too."
        ) from None
    check_changes(changed, allowed, workdir)


def check_changes(changed: list[str], allowed: bool, workdir: Path) -> None:
    """Checks that a run may go on with these changes of its config.

    Raises:
        UsageError: `allowed` is False, or a change alters the length of an epoch.
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
    """Compares the names of the images with which a run began and goes on.

    Raises:
        DataError: the names differ.
    """
    if found != known:
        raise errors.DataError(
            f"The images changed since the run in {workdir} began: it began with "
            f"{known} and found {found}. Restore the added, removed or changed files, "
            "or name another --workdir."
        )


def check_finished(
    finished: Entry, workdir: Path, load_data: Callable[[], ImageData]
) -> None:
    """Compares the images of a finished run if they still exist, and logs its end.

    Args:
        finished: the run's entry.
        workdir: the run's folder.
        load_data: loads the data set. Not called for data sets of the zoo, which do
            not change.

    Raises:
        DataError: the images changed.
    """
    of_the_zoo = *load.names(), *load.ENCODED
    # Entries of earlier versions do not name their images.
    known = finished.get("images")
    if known and finished["config"]["data"]["name"] not in of_the_zoo:
        try:
            found = load_data().images
        except (errors.DataError, errors.UsageError) as error:
            # The weights are complete, even if the user deleted the images.
            logging.warning(
                "The images are not compared with those of the finished run: %s", error
            )
        else:
            check_images(known, found, workdir)
    logging.info("%s is finished.", workdir)


def check_unlocked(workdir: Path, chief: bool) -> None:
    """Checks that no other process holds the folder, before data are read.

    Raises:
        ResourceError: another process does.
    """
    if chief and (workdir / "LOCK").exists():
        with files.exclusive(workdir / "LOCK"):
            pass


@contextlib.contextmanager
def locked(workdir: Path, chief: bool, check: Callable[[], None]) -> Iterator[None]:
    """Holds the folder's lock on the chief, and removes what killed processes left.

    Args:
        workdir: the run's folder.
        chief: whether this process writes files.
        check: called before the folder is made.

    Raises:
        ResourceError: another process holds the folder, or the disk refused.
    """
    try:
        with contextlib.ExitStack() as stack:
            if chief:
                check()
                stack.enter_context(files.exclusive(workdir / "LOCK"))
                for folder in (workdir, *filter(Path.is_dir, workdir.iterdir())):
                    files.remove_leftovers(folder)
            yield
    except errors.EluZooError:  # NotFoundError is an OSError too
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"Training in {workdir} cannot go on: {error}. Checkpoints are intact. Fix "
            "the cause, and run the same command again to resume."
        ) from error
