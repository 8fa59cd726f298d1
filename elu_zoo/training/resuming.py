"""Resumption of a folder's run: checks of its config and images, and its lock."""

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
    """Checks that a config may train in a folder, by the config of the folder's run.

    It refuses a changed config before any work; the checkpoint's config decides later.

    Raises:
        UsageError: the config differs, which is not allowed.
        CorruptError: the folder's config cannot be read.
    """
    path = workdir / "config.json"
    if not path.is_file():
        return
    try:
        changed = differences(json.loads(path.read_text()), config)
    except (ValueError, AttributeError) as error:
        raise errors.CorruptError(
            f"{path} is damaged: {error}. Delete it: checkpoints know their config."
        ) from None
    check_changes(changed, allowed, workdir)


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
        DataError: they are others.
    """
    if found != known:
        raise errors.DataError(
            f"The images are not those with which {workdir} began: it has {known}, "
            f"found are {found}. Files were added, removed or changed. Bring them "
            "back, or name another --workdir."
        )


def check_finished(
    finished: Entry, workdir: Path, load_data: Callable[[], ImageData]
) -> None:
    """Checks the images of a finished run, where they are left, and logs its end.

    Args:
        finished: the run's entry.
        workdir: the run's folder.
        load_data: loads the data set; not called for one of the zoo's, which do not
            change.

    Raises:
        DataError: the images are others.
    """
    of_the_zoo = *load.names(), *load.ENCODED
    # Entries of earlier versions do not name their images.
    known = finished.get("images")
    if known and finished["config"]["data"]["name"] not in of_the_zoo:
        try:
            found = load_data().images
        except (errors.DataError, errors.UsageError) as error:
            # The images may have been deleted; the weights are there all the same.
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
    """Holds the folder for the chief, which makes it after `check`.

    Raises:
        ResourceError: another process holds the folder, or the system refused to read
            or to write; saved checkpoints are intact.
    """
    try:
        with contextlib.ExitStack() as stack:
            if chief:
                check()
                stack.enter_context(files.exclusive(workdir / "LOCK"))
                files.remove_leftovers(workdir)
            yield
    except errors.EluZooError:  # some of which are errors of the system too
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"Training in {workdir} cannot go on: {error}. Checkpoints are intact. "
            "Mend that, and run the same command again to resume."
        ) from error
