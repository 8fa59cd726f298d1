"""What a run depends on, compared before it is resumed, and the lock of its folder."""

import contextlib
import dataclasses
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
    from elu_zoo.training.record.observers import Observer


@dataclasses.dataclass(frozen=True)
class RunIdentity:
    """Everything on which the numbers of a run depend; None where it is unknown."""

    config: dict[str, Any] = dataclasses.field(default_factory=dict)  # as JSON values
    parent: str | None = None  # tag of the weights from which the run starts, or ""
    code: str | None = None  # hash of the user's code, or "", see `config.code_digest`
    images: str | None = None  # name of the training images; of the user's, with a hash
    versions: dict[str, str] | None = None  # of packages
    replicas: int | None = None  # number of devices
    accumulate: int | None = None  # number of parts of a device's examples


def compare(
    began: RunIdentity, now: RunIdentity, workdir: Path, allow_config_change: bool = False
) -> list[str]:
    """Compares a run's identity at its start with the present one; returns allowed changes."""
    changed = differences(began.config, now.config)
    _check_changes(changed, allow_config_change, workdir)
    old, new = dataclasses.asdict(began), dataclasses.asdict(now)
    differing = {k for k in old if old[k] != new[k] and None not in (old[k], new[k])}
    if "images" in differing:
        raise errors.DataError(
            f"The images have changed since the run in {workdir} began. The run began "
            f"with {began.images}, but the images are now {now.images}. Restore the added, "
            "removed, changed or renamed files and folders, or pass another --workdir."
        )
    if "parent" in differing:
        raise errors.DataError(
            f"The run in {workdir} began with the weights {began.parent or 'none'}, but "
            f"model.weights now selects {now.parent or 'none'}. Set model.weights to the tag or "
            "folder of the old weights with --allow_config_change, or pass another --workdir."
        )
    if "code" in differing and now.code:
        logging.warning(
            "The file of your network or activation has changed since the run in %s began. "
            "Pass another --workdir to train anew.",
            workdir,
        )
        changed.append(f"code: {began.code} -> {now.code}")
    for name in sorted(differing & {"versions", "replicas", "accumulate"}):
        text = "The %s of the run were %s and are now %s: results may differ, perhaps in last bits."
        logging.warning(text, name, old[name], new[name])
    return changed


def _check_changes(changed: list[str], allowed: bool, workdir: Path) -> None:
    """Checks that a run can be resumed with the changes of its config."""
    resumes = unfinished.newest_step(workdir) is not None
    for change in changed if resumes else ():
        own = not any(repr(name) in change for name in load.names())
        if own and change.startswith(("data.name:", "data.folder:")):
            continue  # `compare` compares the images, which may have moved
        if change.startswith(("data.", "train.batch_size:", "seed:", "train.keep_best:")):
            raise errors.UsageError(
                f"A run cannot be resumed with {change}. Pass another --workdir."
            )
    if changed and not allowed:
        raise errors.UsageError(
            f"{workdir} belongs to another config: {'; '.join(changed)}. Pass another "
            "--workdir, or pass --allow_config_change to "
            f"{'resume this run' if resumes else 'train here with the new config'}."
        )


def check_same_config(workdir: Path, now: RunIdentity, allow_config_change: bool) -> None:
    """Compares the config with config.json in the run's folder, before any work."""
    errors.check_bool("allow_config_change", allow_config_change)
    path = workdir / "config.json"
    if path.is_file():
        compare(RunIdentity(files.read_json(path)), now, workdir, allow_config_change)


def check_finished(
    finished: Entry,
    workdir: Path,
    load_data: Callable[[], ImageData],
    observers: Sequence["Observer"],
    now: RunIdentity,
) -> None:
    """Compares a finished run with what it depends on, and with the records it must have."""
    config = finished["config"]
    images = finished.get("images")
    began = RunIdentity(config, finished.get("parent", ""), finished.get("code", ""), images)
    # The images of the zoo's data sets do not change, unless they are in a folder of the user.
    if images and load.is_own(config["data"]["name"], config["data"].get("folder", "")):
        try:
            now = dataclasses.replace(now, images=load_data().fingerprint)
        except (errors.DataError, errors.UsageError) as error:
            # The weights are complete, even if the user has deleted the images.
            logging.warning("The images are not compared with those of the run: %s", error)
    compare(began, now, workdir)
    check_observed(workdir, observers)
    logging.info("%s is finished.", workdir)


def check_observed(workdir: Path, observers: Sequence["Observer"]) -> None:
    """Checks that a run has the records of observers; raises `DataError`."""
    missing = [each.name for each in observers if not (workdir / each.name).exists()]
    if missing:
        names = ", ".join(missing)
        raise errors.DataError(f"{workdir} lacks {names}. Delete the folder to train again.")


def check_unlocked(workdir: Path, chief: bool) -> None:
    """Checks that this process alone can use the run's folder, before data are read."""
    if chief:
        files.check_writable(workdir / "checkpoints")
    if chief and (workdir / "LOCK").exists():
        with files.exclusive(workdir / "LOCK"):
            pass


@contextlib.contextmanager
def lock(workdir: Path, chief: bool, check: Callable[[], None]) -> Iterator[None]:
    """Locks the run's folder on the chief, and removes files of killed processes.

    `check` is called before the folder is created.
    """
    try:
        with contextlib.ExitStack() as stack:
            if chief:
                check()
                stack.enter_context(files.exclusive(workdir / "LOCK"))
                for folder in (workdir, workdir / "checkpoints"):
                    files.remove_leftovers(folder)
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
