"""Records of a run: metrics.jsonl, timing.jsonl, TensorBoard events and a display."""

import hashlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from absl import logging
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from tqdm.auto import tqdm

from elu_zoo import errors, files


class Records:
    """Files of a run to which rows are appended.

    metrics.jsonl has the reproducible numbers. When a run is resumed, rows after the
    checkpoint are deleted. timing.jsonl has times. TensorBoard gets both.

    Args:
        workdir: the run's folder; None on machines other than the chief.
        mark: the result of `mark` at the restored checkpoint.
        epochs: number of epochs whose rows are in these bytes.
    """

    def __init__(self, workdir: Path | None, mark: tuple[int, str], epochs: int):
        self._files = {}
        self._digest = hashlib.sha256()  # of metrics.jsonl
        self._board = None
        if workdir is None:
            return
        contents = {}
        for name in ("metrics", "timing"):
            path = workdir / f"{name}.jsonl"
            path.touch()
            contents[name] = files.read(path)
        contents["metrics"] = contents["metrics"][: mark[0]]
        _check_metrics(workdir / "metrics.jsonl", contents["metrics"], mark, epochs)
        self._digest.update(contents["metrics"])
        for name, content in contents.items():
            file = self._files[name] = (workdir / f"{name}.jsonl").open("rb+")
            # A killed process may have written a part of the last row.
            file.truncate(content.rfind(b"\n") + 1)
            file.seek(0, os.SEEK_END)
        self._board = _board(workdir / "tensorboard")

    def write(self, row: dict[str, float]) -> None:
        """Appends a row to metrics.jsonl, flushed to the disk, and to TensorBoard."""
        self._append("metrics", row)
        self._scalars(row)

    def write_timing(self, row: dict[str, float]) -> None:
        """Appends a row of times and rates to timing.jsonl and TensorBoard."""
        self.write_start(row)
        self._scalars(row)

    def write_start(self, row: dict[str, Any]) -> None:
        """Appends a row to timing.jsonl only, with the present time."""
        self._append("timing", {**row, "unix_time": round(time.time(), 3)})

    def mark(self) -> tuple[int, str]:
        """Returns the length of metrics.jsonl in bytes, and its SHA-256."""
        return self._files["metrics"].tell(), self._digest.hexdigest()

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()
        if self._board:
            self._board.close()

    def _append(self, name: str, row: dict[str, Any]) -> None:
        if self._board is None:
            return
        file = self._files[name]
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        file.write(line)
        if name == "metrics":
            self._digest.update(line)
        file.flush()
        os.fsync(file.fileno())

    def _scalars(self, row: dict[str, float]) -> None:
        if self._board is None:
            return
        values = [
            Summary.Value(tag=key, simple_value=value)
            for key, value in row.items()
            if key != "step"
        ]
        event = Event(step=row["step"], wall_time=time.time())
        event.summary.CopyFrom(Summary(value=values))
        self._board.write(event.SerializeToString())
        self._board.flush()


def _check_metrics(path: Path, content: bytes, mark: tuple[int, str], epochs: int) -> None:
    """Checks that metrics.jsonl begins as at a checkpoint."""
    length, sha256 = mark
    if length and not content:
        logging.warning(
            "%s is missing. The run continues without the rows of its first %d epochs. "
            "Train again in another --workdir to get all rows.",
            path,
            epochs,
        )
        return
    if len(content) < length or (length and sha256 != files.sha256(content)):
        raise errors.CorruptError(
            f"{path} was changed, is incomplete or belongs to another run. Its rows "
            f"are not those of the {epochs} epochs of the checkpoint. Restore the file "
            "of this run, or delete the file to continue without these rows."
        )


def _board(folder: Path) -> RecordWriter:
    """Returns a writer of TensorBoard events.

    TensorBoard's `EventFileWriter` is not used, because its thread ignores the error of
    a full disk.
    """
    folder.mkdir(exist_ok=True)
    name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}"
    board = RecordWriter((folder / f"{name}.{os.getpid()}").open("ab"))
    first = Event(wall_time=time.time(), file_version="brain.Event:2")
    board.write(first.SerializeToString())
    return board


class Timer:
    """Wall time of training, and examples per second of the training step."""

    def __init__(self):
        self._last = time.perf_counter()
        self._start: float | None = None
        self._examples, self._seconds = 0, 0.0

    def lap(self) -> float:
        """Returns the seconds since the previous call, or since the start."""
        last, self._last = self._last, time.perf_counter()
        return self._last - last

    def start(self, examples: int) -> None:
        """Begins to train on `examples` examples, until `stop` is called."""
        if self._start is None:
            self._start = time.perf_counter()
        self._examples += examples

    def stop(self) -> None:
        """Stops the time of the examples."""
        if self._start is not None:
            self._seconds += time.perf_counter() - self._start
            self._start = None

    def rate(self) -> float | None:
        """Returns examples per second since the previous call, None for no examples."""
        rate = self._examples / self._seconds if self._examples else None
        self._examples, self._seconds = 0, 0.0
        return rate


class Display:
    """Progress display: a bar on a terminal or in a notebook, otherwise lines.

    Args:
        total: number of iterations of the run.
        done: number of iterations that are finished already.
    """

    def __init__(self, total: int, done: int):
        shown = "ipykernel" in sys.modules or sys.stderr.isatty()
        self._bar = tqdm(
            total=total, initial=done, unit="step", disable=not shown, dynamic_ncols=True
        )
        self._done = done

    def update(self, done: int) -> None:
        """Shows the number of finished iterations."""
        self._bar.update(done - self._done)
        self._done = done

    def row(self, row: dict[str, float]) -> None:
        """Shows the metrics of an epoch."""
        text = ", ".join(
            f"{name} {value}" if isinstance(value, int) else f"{name} {value:.5g}"
            for name, value in row.items()
        )
        if self._bar.disable:
            print(text, file=sys.stderr, flush=True)
        else:
            # The text begins after step and epoch, because the bar shows the step.
            self._bar.set_postfix_str(text.partition("train_")[2])

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()
