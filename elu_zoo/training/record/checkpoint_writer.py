"""The thread that writes the checkpoints of a run while the run trains."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from absl import logging

from elu_zoo import errors, files
from elu_zoo.training import hardware
from elu_zoo.training.record.checkpoint import Checkpoints
from elu_zoo.training.step.compilation import CHECKPOINT_SECONDS


class CheckpointWriter:
    """Writes checkpoints, and their config to the file `config`, in a thread."""

    def __init__(self, checkpoints: Checkpoints, config: Path):
        self._checkpoints = checkpoints
        self._config = config
        self._seconds = CHECKPOINT_SECONDS["gpu" if hardware.accelerators() else "cpu"]
        self._begun = time.monotonic()
        self._thread = ThreadPoolExecutor(1)
        self._written: Future | None = None

    def is_due(self) -> bool:
        """Whether enough seconds have passed for a regular checkpoint."""
        return time.monotonic() - self._begun >= self._seconds

    def begin(self, state: dict[str, Any], last: bool = False) -> None:
        """Copies the variables, and begins to write them with a train state."""
        try:
            self.join()
        except (errors.ResourceError, OSError) as error:
            if not last:
                raise
            logging.error("%s", error)  # the disk may have room for the last one
        self._begun = time.monotonic()
        arrays = self._checkpoints.copy()
        self._written = self._thread.submit(self._write, state, arrays)

    def join(self) -> None:
        """Waits for the last checkpoint; raises the error of `Checkpoints.save`."""
        written, self._written = self._written, None
        if written:
            written.result()

    def _write(self, state: dict[str, Any], arrays: dict[str, Any]) -> None:
        if self._checkpoints.save(state, arrays):
            # Written after the checkpoint, because a run that is killed earlier
            # resumes from a checkpoint of the old config.
            files.write_json(self._config, state["identity"]["config"])

    def __enter__(self) -> "CheckpointWriter":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        with self._thread:
            if kind is None:
                self.join()
            elif self._written and (failed := self._written.exception()):
                logging.error("%s", failed)  # besides the error that ended the run
