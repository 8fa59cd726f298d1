"""Records of a run: metrics.jsonl, timing.jsonl, TensorBoard events and a display."""

import hashlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from tqdm.auto import tqdm

from elu_zoo import errors, files


class Records:
    """Files of a run to which rows are appended.

    metrics.jsonl has the reproducible numbers. When a run is resumed, rows after the
    checkpoint's `mark` are deleted. timing.jsonl has times. TensorBoard gets both.
    `workdir` is None on machines other than the chief, which write nothing.
    """

    def __init__(self, workdir: Path | None, mark: tuple[int, str]):
        self._board: Any = None
        if workdir is None:
            return
        metrics, timing = workdir / "metrics.jsonl", workdir / "timing.jsonl"
        rows = _metrics_at(metrics, *mark)
        self._digest = hashlib.sha256(rows)
        self._metrics = _reopen(metrics, rows)
        self._timing = _reopen(timing, files.read(timing) if timing.exists() else b"")
        self._board = _board(workdir / "tensorboard")
        # TensorBoard drops the points of a killed process after the last of these rows.
        step = json.loads(rows.splitlines()[-1])["step"] + 1 if rows else 1
        start = Event(step=step, session_log=SessionLog(status=SessionLog.START))
        self._board.write(start.SerializeToString())

    def write(self, row: dict[str, float], **plotted: float) -> None:
        """Appends a row to metrics.jsonl, flushed to the disk; TensorBoard gets more."""
        if self._board:
            self._digest.update(_append(self._metrics, row))
            self._plot(row | plotted)

    def write_timing(self, row: dict[str, float]) -> None:
        """Appends a row of times and rates to timing.jsonl and TensorBoard."""
        if self._board:
            self.write_start(row)
            self._plot(row)

    def write_start(self, row: dict[str, Any]) -> None:
        """Appends a row to timing.jsonl only, with the present time."""
        if self._board:
            _append(self._timing, {**row, "unix_time": round(time.time(), 3)})

    def mark(self) -> tuple[int, str]:
        """Returns the length of metrics.jsonl in bytes, and its SHA-256."""
        return self._metrics.tell(), self._digest.hexdigest()

    def close(self) -> None:
        """Closes the files."""
        if self._board:
            for file in (self._metrics, self._timing, self._board):
                file.close()

    def _plot(self, row: dict[str, float]) -> None:
        event = Event(step=row["step"], wall_time=time.time())
        for name, value in row.items():
            if name != "step":
                event.summary.value.add(tag=name, simple_value=value)
        self._board.write(event.SerializeToString())
        self._board.flush()


def _metrics_at(path: Path, length: int, sha256: str) -> bytes:
    """Returns the rows that metrics.jsonl had at a checkpoint."""
    content = files.read(path)[:length] if path.exists() else b""
    if content and sha256 != files.sha256(content):
        raise errors.CorruptError(
            f"{path} was changed, is incomplete or belongs to another run than the checkpoint. "
            "Restore the file of this run, or delete it to continue without its rows."
        )
    return content


def _reopen(path: Path, content: bytes) -> BinaryIO:
    """Opens a file to append rows to `content`, which a killed process may have torn."""
    path.touch()
    file = path.open("rb+")
    file.truncate(content.rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
    return file


def _append(file: BinaryIO, row: dict[str, Any]) -> bytes:
    """Appends a row, flushed to the disk, and returns its line."""
    line = (json.dumps(row, allow_nan=False) + "\n").encode()
    file.write(line)
    file.flush()
    os.fsync(file.fileno())
    return line


def _board(folder: Path) -> RecordWriter:
    """Returns a writer of TensorBoard events.

    The thread of TensorBoard's own `EventFileWriter` ignores the error of a full disk.
    """
    folder.mkdir(exist_ok=True)
    name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
    board = RecordWriter((folder / name).open("ab"))
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
        self._start = self._start or time.perf_counter()
        self._examples += examples

    def stop(self) -> None:
        """Stops the time of the examples."""
        if self._start:
            self._seconds += time.perf_counter() - self._start
            self._start = None

    def rate(self) -> float | None:
        """Returns examples per second since the previous call, None for no examples."""
        rate = self._examples / self._seconds if self._examples else None
        self._examples, self._seconds = 0, 0.0
        return rate


class Display:
    """Progress of a run: a bar on a terminal or in a notebook, otherwise lines.

    `total` iterations are the length of the run, of which `done` are finished.
    """

    def __init__(self, total: int, done: int):
        lines = "ipykernel" not in sys.modules and not sys.stderr.isatty()
        self._bar = tqdm(total=total, initial=done, unit="step", disable=lines, dynamic_ncols=True)
        self.close = self._bar.close

    def update(self, done: int) -> None:
        """Shows the number of finished iterations."""
        self._bar.update(done - self._bar.n)

    def row(self, row: dict[str, float]) -> None:
        """Shows the metrics of an epoch."""
        cells = [f"{k} {v}" if isinstance(v, int) else f"{k} {v:.5g}" for k, v in row.items()]
        text = ", ".join(cells)
        if self._bar.disable:
            print(text, file=sys.stderr, flush=True)
        else:
            # The text begins after step and epoch, because the bar shows the step.
            self._bar.set_postfix_str(text.partition("train_")[2])
