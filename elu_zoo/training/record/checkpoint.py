"""Train state and checkpoints of a run.

`<workdir>/checkpoints/step-<iteration>/` has arrays.npz (weights and optimizer) and
manifest.json (train state, versions, a hash of the arrays and a hash of the manifest).
The folder is renamed to this name after all its files are on the disk.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import io
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from absl import logging

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.training.config import differences
from elu_zoo.training.record import resuming
from elu_zoo.training.run import Length
from elu_zoo.weights import unfinished

FORMAT = 1
_NAME = re.compile(r"step-\d{9}")
# Errors of an absent file. Other errors, such as a network's, may be temporary.
_MISSING = FileNotFoundError, NotADirectoryError, IsADirectoryError


def versions() -> dict[str, str]:
    """Returns the versions of the packages that a run's numbers depend on."""
    installed = {"elu_zoo": elu_zoo.__version__, "numpy": np.__version__}
    installed["keras"] = keras.__version__
    # From the module, because TensorFlow's package may be named tensorflow-cpu.
    backend = importlib.import_module(keras.backend.backend())
    installed[backend.__name__] = backend.__version__
    return installed


@dataclasses.dataclass
class TrainState:
    """Train state of a run, which a checkpoint holds beside the weights.

    Attributes:
        config: the run's config, as JSON values.
        images: name of the training images, with a hash if they are the user's own.
        parent: tag of the weights from which the run starts, or "".
        code: hash of the user's code, see `user_code.digest`.
        step: number of finished iterations.
        epoch_loss: sum of the losses of the current epoch.
        epochs_recorded: number of epochs whose metrics are in metrics.jsonl.
        metrics_length: length of metrics.jsonl in bytes.
        metrics_sha256: SHA-256 of these bytes.
        seconds: wall time of training, in seconds.
        best_step, best_loss: the lowest validation loss, see `Best`; step 0 for none.
        config_changes: changes of the config and the user's code since the run began,
            and their iterations.
    """

    config: dict[str, Any]
    images: str
    parent: str = ""
    code: str = ""
    step: int = 0
    epoch_loss: float = 0.0
    epochs_recorded: int = 0
    metrics_length: int = 0
    metrics_sha256: str = ""
    seconds: float = 0.0
    best_step: int = 0
    best_loss: float = 0.0
    config_changes: list[str] = dataclasses.field(default_factory=list)

    def add(self, losses: np.ndarray) -> None:
        """Adds the losses of the next iterations, `(iterations,)`."""
        # Added one by one, because the rounding of the sum must not depend on the
        # number of iterations in a call.
        for value in losses.tolist():
            self.epoch_loss += value
        self.step += len(losses)

    def end_epoch(self, epoch: int) -> None:
        """Starts the next epoch, after the metrics of `epoch` have been written."""
        self.epoch_loss, self.epochs_recorded = 0.0, epoch

    def resume(
        self,
        saved: dict[str, Any],
        workdir: Path,
        length: Length,
        allow_config_change: bool = False,
    ) -> "TrainState":
        """Returns the train state of a checkpoint, after comparing it with this state.

        Args:
            saved: the train state of the checkpoint, as JSON values.
            workdir: the run's folder.
            length: the length of the run.
            allow_config_change: whether to accept a checkpoint of another config.

        Raises:
            UsageError: the checkpoint has another config, or is past the end of the
                run.
            CorruptError: the checkpoint is of another version of elu_zoo.
            DataError: the run began with other images or other weights.
        """
        try:
            loaded = TrainState(**saved)
        except TypeError as error:
            raise errors.CorruptError(
                f"The checkpoints in {workdir} are of another version of elu_zoo: "
                f"{error}. Delete the folder 'checkpoints' to train from the start."
            ) from None
        changed = differences(loaded.config, self.config)
        resuming.check_changes(changed, allow_config_change, workdir)
        if self.code and loaded.code != self.code:
            resuming.warn_of_code(workdir, f"after iteration {loaded.step}")
            changed.append(f"code: {loaded.code} -> {self.code}")
            loaded.code = self.code
        if changed:
            text = f"after iteration {loaded.step}: {'; '.join(changed)}"
            loaded.config_changes = [*loaded.config_changes, text]
            loaded.config = self.config
        resuming.check_images(loaded.images, self.images, workdir)
        resuming.check_parent(loaded.parent, self.parent, workdir)
        logging.info("Resuming %s after iteration %d.", workdir, loaded.step)
        if loaded.step > length.total:
            raise errors.UsageError(
                f"The run in {workdir} has finished {loaded.step} iterations, but the "
                f"changed config has only {length.total}. Increase train.epochs."
            )
        return loaded


class Checkpoints:
    """Checkpoints of one run.

    Args:
        workdir: the run's folder.
        variables: Keras variables of the model and optimizer, in a fixed order.
        kept: number of checkpoints to keep; older checkpoints are deleted.
    """

    def __init__(self, workdir: Path, variables: Sequence[Any], kept: int):
        self._folder = workdir / "checkpoints"
        # Numbered, because the random states of two layers may have the same path.
        self._variables = {f"{i:04d}/{v.path}": v for i, v in enumerate(variables)}
        self._kept = kept
        self._step: int | None = None  # of the last saved or restored checkpoint

    def check_room(self) -> None:
        """Checks that the disk has room for three checkpoints, existing ones included.

        Raises:
            ResourceError: the folder is not writable, or the disk has less room.
        """
        size = sum(np.asarray(v).nbytes for v in self._variables.values())
        files.check_room(self._folder, max(1, 3 - len(self._all())) * size)

    def copy(self) -> dict[str, np.ndarray]:
        """Returns copies of the variables, which later iterations do not change."""
        return {name: np.array(v) for name, v in self._variables.items()}

    def save(self, state: dict[str, Any], arrays: dict[str, np.ndarray] | None = None) -> bool:
        """Saves variables and a train state; returns False if they are saved already.

        A file or folder that already has the name of the checkpoint is renamed.

        Args:
            state: a `TrainState` as JSON values.
            arrays: the result of `copy` at this state; None to copy now.

        Raises:
            TrainingError: a value is not finite. Nothing is written.
            ResourceError: the checkpoint cannot be written. Earlier checkpoints are
                intact.
        """
        step = state["step"]
        target = self._folder / f"step-{step:09d}"
        if step == self._step and target.is_dir():
            return False
        arrays = arrays or self.copy()
        for name, value in arrays.items():
            if not np.isfinite(value).all():
                raise errors.TrainingError(
                    f"The variable {name} is not finite after iteration {step}, which "
                    "is not saved. Try a lower learning rate."
                )
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        content = buffer.getvalue()
        manifest = {
            "format": FORMAT,
            "state": state,
            "sha256": files.sha256(content),
            "versions": versions(),
        }
        try:
            _move_away(target)
            with files.new_directory(target) as folder:
                (folder / "arrays.npz").write_bytes(content)
                (folder / "manifest.json").write_text(seal(manifest))
        except OSError as error:
            raise errors.ResourceError(
                f"The checkpoint of iteration {step} ({len(content)} bytes) could not "
                f"be written to {self._folder}: {error}. Fix the cause. "
                f"{unfinished.kept(self._folder.parent)}"
            ) from error
        self._step = step
        # Checkpoints of later steps are from another run, and are not deleted.
        saved = [path for path in self._all() if path.name <= target.name]
        # A hidden folder is the remainder of a process that was killed in `save`.
        for old in [*saved[self._kept :], *self._folder.glob(".step-*")]:
            with contextlib.suppress(OSError):
                files.remove(old)
        return True

    def restore(self, *, keep_damaged: bool = False) -> dict[str, Any] | None:
        """Restores the newest undamaged checkpoint, and deletes damaged newer ones.

        Args:
            keep_damaged: whether to keep damaged checkpoints.

        Returns:
            The train state as JSON values, or None if there is no checkpoint.

        Raises:
            CorruptError: all checkpoints are damaged, or the newest undamaged one has
                a newer format or another model.
        """
        damaged = []
        for folder in self._all():
            try:
                manifest, arrays = _read(folder)
            except _Damaged as problem:
                logging.error("%s is damaged (%s) and is not used.", folder, problem)
                damaged.append(folder.name)
                continue
            self._assign(folder, arrays)
            for name in [] if keep_damaged else damaged:
                files.remove(self._folder / name)
            self._step = manifest["state"]["step"]
            return manifest["state"]
        if damaged:
            raise errors.CorruptError(
                f"Every checkpoint in {self._folder} is damaged: {', '.join(damaged)}. "
                "Delete this folder to train from the start."
            )
        return None

    def _all(self) -> list[Path]:
        paths = self._folder.glob("step-*")
        return sorted((p for p in paths if _NAME.fullmatch(p.name)), reverse=True)

    def _assign(self, folder: Path, arrays: dict[str, np.ndarray]) -> None:
        arrays = {_without_counts(name): value for name, value in arrays.items()}
        variables = {_without_counts(name): v for name, v in self._variables.items()}
        expected = {name: tuple(v.shape) for name, v in variables.items()}
        saved = {name: value.shape for name, value in arrays.items()}
        if saved != expected:
            differing = sorted({name for name, _ in saved.items() ^ expected.items()})
            raise errors.CorruptError(
                f"{folder} belongs to another model or optimizer. Differing variables: "
                f"{', '.join(differing[:5])}. Pass another --workdir."
            )
        for name, variable in variables.items():
            variable.assign(arrays[name])


def seal(manifest: dict[str, Any]) -> str:
    """Returns a manifest as text, with a hash of its entries in the entry "seal"."""
    entries = {key: value for key, value in manifest.items() if key != "seal"}
    entries["seal"] = files.sha256(json.dumps(entries).encode())
    return json.dumps(entries, indent=2)


def _move_away(target: Path) -> None:
    """Renames a file or folder that has the name of a new checkpoint."""
    if os.path.lexists(target):
        moved = target.rename(f"{target}.moved")
        logging.warning(
            "%s was not written by this run. It was renamed to %s. Delete it unless you need it.",
            target,
            moved.name,
        )


def _without_counts(name: str) -> str:
    """Returns a variable's name without the numbers by which Keras makes it unique."""
    return re.sub(r"_\d+(?=[/_]|$)", "", name)


class _Damaged(Exception):
    """A checkpoint is incomplete, or differs from its manifest."""


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        text = files.read(folder / "manifest.json").decode()
        manifest = json.loads(text)
        if seal(manifest) != text:
            raise _Damaged("manifest.json does not match its seal")
        is_newer = manifest["format"] > FORMAT
        values = {} if is_newer else _arrays(folder, manifest)
    except (OSError, MemoryError) as error:
        if isinstance(error, _MISSING):
            raise _Damaged(f"{type(error).__name__}: {error}") from error
        raise errors.ResourceError(
            f"{folder} cannot be read: {error}. Nothing was changed. Run it again."
        ) from error
    # Damaged files raise errors of many types, such as RecursionError for JSON.
    except Exception as error:
        raise _Damaged(f"{type(error).__name__}: {error}") from error
    if is_newer:
        raise errors.CorruptError(
            f"{folder} has format {manifest['format']}, but this version of "
            f"elu_zoo reads formats up to {FORMAT}. Upgrade elu_zoo."
        )
    if manifest["versions"] != versions():
        logging.warning(
            "%s was written with the versions %s. The installed versions are %s. "
            "Results may therefore differ in their last bits.",
            folder,
            manifest["versions"],
            versions(),
        )
    return manifest, values


def _arrays(folder: Path, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
    with files.open_regular(folder / "arrays.npz") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != manifest["sha256"]:
            raise _Damaged("arrays.npz does not match the SHA-256 in manifest.json")
        if folder.name != f"step-{manifest['state']['step']:09d}":
            raise _Damaged("manifest.json belongs to another iteration")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
