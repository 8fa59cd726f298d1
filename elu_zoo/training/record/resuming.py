"""Checks of a run's lock, config, images, parent and code, before it is resumed."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absl import logging

from elu_zoo import errors, files
from elu_zoo.data import load
from elu_zoo.data.dataset import ImageData
from elu_zoo.training.config import differences
from elu_zoo.weights import unfinished
from elu_zoo.weights.manifest import Entry

if TYPE_CHECKING:
    from elu_zoo.training.record.checkpoint import TrainState
    from elu_zoo.training.record.observers import Observer


def check_config(workdir: Path, config: dict[str, Any], allowed: bool) -> None:
    """Compares a config with config.json in the run's folder, before any work.

    `TrainState.resume` later compares the config with the checkpoint.

    Raises:
        UsageError: the configs differ, and `allowed` is False.
        CorruptError: config.json cannot be read.
    """
    path = workdir / "config.json"
    if not path.is_file():
        return
    try:
        changed = differences(json.loads(files.read(path)), config)
    except (ValueError, AttributeError, RecursionError) as error:
        raise errors.CorruptError(
            f"{path} is damaged: {error}. Delete the file. {unfinished.kept(workdir)}"
        ) from None
    check_changes(changed, allowed, workdir)


def check_changes(changed: list[str], allowed: bool, workdir: Path) -> None:
    """Checks that a run can be resumed with the changes of its config.

    Raises:
        UsageError: changes are not `allowed`, or change the length of an epoch.
    """
    resumes = unfinished.newest_step(workdir) is not None
    if changed and not allowed:
        raise errors.UsageError(
            f"{workdir} belongs to another config: {'; '.join(changed)}. Pass another "
            "--workdir, or pass --allow_config_change to "
            f"{'resume this run' if resumes else 'train here with the new config'}."
        )
    for change in changed:
        own = not any(repr(name) in change for name in load.names())
        if own and change.startswith(("data.name:", "data.folder:")):
            continue  # `check_images` compares the images, which may have moved
        if change.startswith("train.keep_best:"):
            raise errors.UsageError(
                f"A run cannot be resumed with {change}, because its checkpoints have "
                "the weights of one field only. Pass another --workdir."
            )
        if change.startswith(("data.", "train.batch_size:")):
            raise errors.UsageError(
                f"A run cannot be resumed with {change}, which changes the examples of "
                "an epoch. Pass another --workdir."
            )


def check_images(old: str, new: str, workdir: Path) -> None:
    """Compares the names of a run's images at the start of the run and now.

    Raises:
        DataError: the images differ.
    """
    if new != old:
        raise errors.DataError(
            f"The images have changed since the run in {workdir} began. The run began "
            f"with {old}, but the images are now {new}. Restore the added, removed, "
            "changed or renamed files and folders, or pass another --workdir."
        )


def check_parent(old: str, new: str, workdir: Path) -> None:
    """Compares the tags of the weights from which a run began and would begin now.

    Raises:
        DataError: the weights differ.
    """
    if new != old:
        raise errors.DataError(
            f"The run in {workdir} began with the weights {old or 'none'}, but "
            f"model.weights now selects {new or 'none'}. Set model.weights to the tag "
            "or folder of the old weights with --allow_config_change, or pass another "
            "--workdir."
        )


def warn_of_code(workdir: Path, when: str) -> None:
    """Logs that the user's network or activation differs from that of a run."""
    logging.warning(
        "The file of your network or activation has changed since the run in %s, %s. "
        "Pass another --workdir to train with the new code from the start.",
        workdir,
        when,
    )


def check_finished(
    finished: Entry,
    workdir: Path,
    load_data: Callable[[], ImageData],
    observers: Sequence["Observer"],
    now: "TrainState",
) -> None:
    """Compares a finished run with its images, if any exist, and what it depended on.

    Args:
        finished: the run's entry.
        workdir: the run's folder.
        load_data: loads the data set. It is not called for the zoo's data sets, whose
            images do not change unless they are in a folder of the user.
        observers: the observers whose records the run must have.
        now: the first state of a run that would begin now.

    Raises:
        DataError: the images or the parent differ, or records are missing.
    """
    data = finished["config"]["data"]
    own = load.is_own(data["name"], data.get("folder", ""))
    # Entries of earlier versions have no field `images`.
    old = finished.get("images")
    if old and own:
        try:
            new = load_data().images
        except (errors.DataError, errors.UsageError) as error:
            # The weights are complete, even if the user has deleted the images.
            logging.warning(
                "The images cannot be compared with those of the finished run: %s", error
            )
        else:
            check_images(old, new, workdir)
    check_parent(finished.get("parent", ""), now.parent, workdir)
    if now.code and finished.get("code", now.code) != now.code:
        warn_of_code(workdir, "which is finished")
    check_observed(workdir, observers)
    logging.info("%s is finished.", workdir)


def check_observed(workdir: Path, observers: Sequence["Observer"]) -> None:
    """Checks that a finished run has the records of observers; raises `DataError`."""
    missing = [each.name for each in observers if not (workdir / each.name).exists()]
    if missing:
        raise errors.DataError(
            f"The finished run in {workdir} did not record {', '.join(missing)}. "
            "Delete the folder to train again."
        )


def check_unlocked(workdir: Path, chief: bool) -> None:
    """Checks that no other process uses the run's folder, before data are read.

    Raises:
        ResourceError: another process uses the folder.
    """
    if chief and (workdir / "LOCK").exists():
        with files.exclusive(workdir / "LOCK"):
            pass


@contextlib.contextmanager
def lock(workdir: Path, chief: bool, check: Callable[[], None]) -> Iterator[None]:
    """Locks the run's folder on the chief, and removes files of killed processes.

    Args:
        workdir: the run's folder.
        chief: whether this process writes files.
        check: called before the folder is created.

    Raises:
        ResourceError: another process uses the folder, or a file in the folder cannot
            be read or written.
    """
    try:
        with contextlib.ExitStack() as stack:
            if chief:
                check()
                stack.enter_context(files.exclusive(workdir / "LOCK"))
                files.remove_leftovers(workdir)
            yield
    except errors.TrainingError as error:  # all checkpoints are written now
        error.args = (f"{error} {unfinished.kept(workdir)}",)
        raise
    except errors.EluZooError:  # NotFoundError is also an OSError
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"Training in {workdir} cannot continue: {error}. Fix the cause. "
            f"{unfinished.kept(workdir)}"
        ) from error
