"""What a run writes while it trains: metrics.jsonl, timing.jsonl, TensorBoard, bar."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from absl import logging
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tqdm.auto import tqdm


class Records:
    """The run's records.

    metrics.jsonl holds only what the run determines and is cut back on a resume;
    timing.jsonl and TensorBoard hold the rest.

    Args:
        workdir: the run's folder; None on machines that write no files.
        length: bytes of metrics.jsonl that belong to the restored state.
    """

    def __init__(self, workdir: Path | None, length: int):
        self._files = {}
        self._board = None
        if workdir is None:
            return
        for name in ("metrics", "timing"):
            path = workdir / f"{name}.jsonl"
            path.touch()
            self._files[name] = path.open("rb+")
            self._files[name].seek(0, os.SEEK_END)
        self._cut(length)
        self._board = EventFileWriter(str(workdir / "tensorboard"))

    def write(self, row: dict[str, float]) -> None:
        """Appends a row to metrics.jsonl; it is on the disk when this returns."""
        self._append("metrics", row)
        logging.info("%s", ", ".join(f"{k} {v:.6g}" for k, v in row.items()))

    def write_timing(self, row: dict[str, float]) -> None:
        """Appends a row of times and rates, which no rerun repeats."""
        self._append("timing", {**row, "unix_time": round(time.time(), 3)})

    def length(self) -> int:
        """Returns the bytes of metrics.jsonl so far."""
        return self._files["metrics"].tell()

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()
        if self._board:
            self._board.close()

    def _cut(self, length: int) -> None:
        file = self._files["metrics"]
        if file.tell() < length:
            logging.warning("metrics.jsonl is shorter than the checkpoint knew it.")
            return
        file.truncate(length)
        file.seek(length)

    def _append(self, name: str, row: dict[str, float]) -> None:
        if not self._files:
            return
        file = self._files[name]
        file.write((json.dumps(row, allow_nan=False) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())
        values = [
            Summary.Value(tag=key, simple_value=value)
            for key, value in row.items()
            if key not in ("step", "unix_time")
        ]
        event = Event(step=row["step"], wall_time=time.time())
        event.summary.CopyFrom(Summary(value=values))
        self._board.add_event(event)


@contextlib.contextmanager
def progress(total: int, done: int) -> Iterator[tqdm]:
    """Yields a bar over iterations, silent unless on a terminal or in a notebook."""
    notebook = "ipykernel" in sys.modules
    bar = tqdm(
        total=total,
        initial=done,
        unit="step",
        disable=not (notebook or sys.stderr.isatty()),
        dynamic_ncols=True,
    )
    with bar:
        yield bar
