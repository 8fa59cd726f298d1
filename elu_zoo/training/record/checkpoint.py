"""Train state and checkpoints of a run: one file `checkpoints/step-<iteration>.npz` each."""

import contextlib
import dataclasses
import importlib
import io
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from absl import logging

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.training.record import resuming
from elu_zoo.training.record.resuming import RunIdentity
from elu_zoo.training.run import Length
from elu_zoo.weights import unfinished

_STATE = "state"  # the array with the train state and the number of arrays, as JSON


def versions() -> dict[str, str]:
    """Returns the versions of the packages that a run's numbers depend on."""
    installed = {"elu_zoo": elu_zoo.__version__, "numpy": np.__version__}
    installed["keras"] = keras.__version__
    # Read from modules, because TensorFlow's package may be named tensorflow-cpu.
    names = {"jax": ("jax", "jaxlib")}.get(keras.backend.backend(), (keras.backend.backend(),))
    modules = map(importlib.import_module, names)  # jaxlib has the compiler
    return installed | {module.__name__: module.__version__ for module in modules}


@dataclasses.dataclass
class TrainState:
    """Train state of a run, which a checkpoint holds beside the weights."""

    identity: RunIdentity = dataclasses.field(default_factory=RunIdentity)
    batch_size: int = 0  # of the run; that of few images depends on the number of epochs
    step: int = 0  # number of finished iterations
    epoch_loss: float = 0.0  # sum of the losses of the current epoch
    epochs_recorded: int = 0  # epochs whose metrics are in metrics.jsonl
    metrics_length: int = 0  # of metrics.jsonl, in bytes
    metrics_sha256: str = ""  # of these bytes
    seconds: float = 0.0  # wall time of training
    best_step: int = 0  # with the lowest validation loss, see `Best`; 0 for none
    best_loss: float = 0.0
    config_changes: list[str] = dataclasses.field(default_factory=list)

    def add(self, losses: np.ndarray) -> None:
        """Adds the losses of the next iterations, `(iterations,)`."""
        # Added one by one, because the rounding of the sum must not depend on the
        # number of iterations in a chunk.
        for value in losses.tolist():
            self.epoch_loss += value
        self.step += len(losses)

    @classmethod
    def resume(
        cls,
        saved: dict[str, Any],
        identity: RunIdentity,
        workdir: Path,
        length: Length,
        allow_config_change: bool,
    ) -> "TrainState":
        """Returns the train state `saved` as JSON, after comparing what the run depends on."""
        state = cls(**{**saved, "identity": RunIdentity(**saved["identity"])})
        changed = resuming.compare(state.identity, identity, workdir, allow_config_change)
        logging.info("Resuming %s after iteration %d.", workdir, state.step)
        # A run is not shortened to its present iteration: this epoch may lack an evaluation.
        is_over = state.step >= length.total and any("train.epochs:" in x for x in changed)
        if is_over or state.batch_size != length.batch_size:
            raise errors.UsageError(
                f"The run in {workdir} has finished {state.step} iterations of {state.batch_size} "
                f"images, but this one has {length.total} of {length.batch_size}. Set "
                "another train.epochs, the devices and --accumulate of before, or a new --workdir."
            )
        if changed:
            state.config_changes.append(f"after iteration {state.step}: {'; '.join(changed)}")
        code = identity.code or state.identity.code  # unknown in some shells
        state.identity = dataclasses.replace(identity, code=code)
        return state


class Checkpoints:
    """Checkpoints of one run: its variables, in a fixed order. The newest `kept` are kept."""

    def __init__(self, workdir: Path, variables: Sequence[Any], kept: int):
        self._workdir = workdir
        # Without the numbers of Keras, which differ from process to process, and with numbers of
        # our own, because the random states of two layers may have the same path.
        paths = [re.sub(r"_\d+(?=[/_]|$)", "", variable.path) for variable in variables]
        self._variables = {f"{i:04d}/{paths[i]}": v for i, v in enumerate(variables)}
        self._kept = kept
        self._step: int | None = None  # of the last saved or restored checkpoint

    def check_room(self) -> None:
        """Checks that the disk has room for three checkpoints, existing ones included."""
        size = sum(np.asarray(v).nbytes for v in self._variables.values())
        missing = max(1, 3 - len(unfinished.checkpoints(self._workdir)))
        files.check_writable(self._workdir / "checkpoints", missing * size)

    def copy(self) -> dict[str, Any]:
        """Returns copies of the variables, which later iterations do not change."""
        return {name: np.array(v) for name, v in self._variables.items()}

    def save(self, state: dict[str, Any], arrays: dict[str, Any] | None = None) -> bool:
        """Saves `copy`, finite, and a train state as JSON; returns False if both are saved."""
        step = state["step"]
        path = self._path(step)
        if step == self._step and path.is_file():
            return False
        arrays = arrays or self.copy()
        for name, value in arrays.items():
            if not np.isfinite(value).all():
                raise errors.TrainingError(
                    f"The variable {name} is not finite after iteration {step}, which "
                    "is not saved. Lower the rates in another --workdir."
                )
        content = io.BytesIO()
        text = json.dumps({"state": state, "arrays": len(arrays)})
        np.savez(content, **arrays | {_STATE: np.frombuffer(text.encode(), np.uint8)})
        try:
            with files.new_file(path) as file:
                file.write(content.getbuffer())
        except OSError as error:
            raise errors.ResourceError(
                f"The checkpoint of iteration {step} ({len(content.getbuffer())} bytes) could "
                f"not be written to {path.parent}: {error}. Fix the cause. "
                f"{unfinished.kept(self._workdir)}"
            ) from error
        self._step = step
        for old in unfinished.checkpoints(self._workdir)[self._kept :]:
            with contextlib.suppress(OSError):
                old.unlink()
        return True

    def restore(self, *, keep_damaged: bool = False) -> dict[str, Any] | None:
        """Restores the newest undamaged checkpoint, and returns its train state, if any."""
        folder, damaged = self._workdir / "checkpoints", []
        if wrong := [path for path in folder.glob("step-*") if path.is_dir()]:
            raise errors.CorruptError(f"{wrong[0]} must be a file, but is a folder. Delete it.")
        for path in unfinished.checkpoints(self._workdir):
            try:
                state, arrays = self._read(path)
            except Exception as error:  # damaged files raise errors of many types
                kind = type(error).__name__
                # A link may lead to no file, or the chief has just deleted a damaged file.
                is_missing = isinstance(error, FileNotFoundError)
                if isinstance(error, OSError | MemoryError) and not is_missing:
                    raise errors.ResourceError(
                        f"{path} cannot be read: {error}. Nothing was changed. Fix the cause."
                    ) from error
                logging.error("%s is damaged (%s: %s) and is not used.", path, kind, error)
                damaged.append(path)
                continue
            self._assign(path, arrays)
            for each in [] if keep_damaged else damaged:
                each.unlink()
            self._step = state["step"]
            return state
        if damaged:
            raise errors.CorruptError(
                f"Every checkpoint in {folder} is damaged: "
                f"{', '.join(path.name for path in damaged)}. "
                "Delete this folder to train from the start."
            )
        return None

    def _path(self, step: int) -> Path:
        return self._workdir / "checkpoints" / f"step-{step:09d}.npz"

    def _read(self, path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Returns the train state and the arrays of a checkpoint, each compared with its CRC."""
        with files.open_regular(path) as file:
            content = io.BytesIO(file.read())
        arrays = {}
        # np.load reads, and therefore compares, only as much as the header of an array says.
        with zipfile.ZipFile(content) as archive:
            for name in archive.namelist():
                member = io.BytesIO(archive.read(name))
                array = np.lib.format.read_array(member, allow_pickle=False)
                arrays[name.removesuffix(".npy")] = array
        saved = json.loads(arrays.pop(_STATE).tobytes())
        if self._path(saved["state"]["step"]) != path or saved["arrays"] != len(arrays):
            raise errors.CorruptError("its parts do not belong together")
        return saved["state"], arrays

    def _assign(self, path: Path, arrays: dict[str, np.ndarray]) -> None:
        expected = {name: tuple(v.shape) for name, v in self._variables.items()}
        saved = {name: value.shape for name, value in arrays.items()}
        if saved != expected:
            differing = sorted({name for name, _ in saved.items() ^ expected.items()})
            raise errors.CorruptError(
                f"{path} belongs to another model or optimizer. Differing variables: "
                f"{', '.join(differing[:5])}. Pass another --workdir."
            )
        for name, variable in self._variables.items():
            variable.assign(arrays[name])
