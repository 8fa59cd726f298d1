"""Files of tools/gpu_queue.py that travel back: folders of runs, in parts, in tar files.

Nothing here imports the package, because `run` has to prepare it first.
"""

import io
import json
import shutil
import tarfile
import time
from pathlib import Path
from typing import Any

FILE_BYTES, FILES = 15_900_000, 4  # of a tar file; files that a call brings back
DIVERGED = "diverged.json"  # in the folder of a run whose loss was not finite
_TARS = "runs-*.tar"


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the complete rows of a .jsonl file that may be missing."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def has_ended(folder: Path) -> bool:
    """Returns whether the run in a folder is finished or diverged."""
    return any((folder / name).is_file() for name in ("outcome.json", DIVERGED))


def add(folder: Path, output: Path, later: Path) -> None:
    """Adds a run's folder to tar files of the output or, beyond FILES of them, of `later`.

    A run that has not ended keeps its last checkpoint, if a file can hold it.
    """
    last = None if has_ended(folder) else max(folder.glob("checkpoints/step-*"), default=None)
    if last and last.stat().st_size > FILE_BYTES:
        print(f"{folder.name}: its checkpoint has {last.stat().st_size} bytes and stays behind")
        last = None
    content = _pack(folder, last)
    stamp, starts = time.time_ns(), range(0, len(content), FILE_BYTES)
    for i, start in enumerate(starts, 1):
        name = f"{stamp}-{i}of{len(starts)}-{folder.name}"
        _append(name, content[start : start + FILE_BYTES], output, later)


def _append(name: str, content: bytes, output: Path, later: Path) -> None:
    """Adds a member to a tar file that has room, or to a new one."""
    sent = sorted(output.glob(_TARS))
    new = (output if len(sent) < FILES else later) / f"runs-{time.time_ns()}.tar"
    files = [*sent, *sorted(later.glob(_TARS))]
    room = (f for f in files if f.stat().st_size + len(content) <= FILE_BYTES)
    chosen = next(room, new)
    temporary = chosen.with_suffix(".tmp")
    if chosen.exists():
        shutil.copyfile(chosen, temporary)
    with tarfile.open(temporary, "a") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    temporary.replace(chosen)  # a killed process leaves the old file


def _pack(folder: Path, checkpoint: Path | None) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            is_kept = "checkpoints" not in path.parts or path == checkpoint
            if path.is_file() and is_kept:
                archive.add(path, str(path.relative_to(folder.parent)))
    return content.getvalue()


def send(output: Path, later: Path) -> None:
    """Creates both folders, and moves as many files to the output as it may have."""
    output.mkdir(parents=True, exist_ok=True)
    later.mkdir(parents=True, exist_ok=True)
    for path in sorted(later.glob(_TARS))[: FILES - len(list(output.glob(_TARS)))]:
        shutil.move(path, output / path.name)


def extract(output: Path, runs: Path) -> None:
    """Replaces the folders of runs that have not ended by those of the tar files."""
    parts, whole = runs / ".parts", runs / ".whole"
    for path in sorted(output.glob(_TARS)):
        with tarfile.open(path) as archive:
            archive.extractall(parts, filter="data")
    for first in sorted(parts.glob("*-1of*-*")):  # by time
        stamp, number, name = first.name.split("-", 2)
        count = int(number.removeprefix("1of"))
        pieces = [parts / f"{stamp}-{i}of{count}-{name}" for i in range(1, count + 1)]
        if not all(piece.is_file() for piece in pieces):
            print(f"{name}: parts are missing, which the next call brings")
            continue
        content = io.BytesIO(b"".join(piece.read_bytes() for piece in pieces))
        for piece in pieces:
            piece.unlink()
        if (runs / name / "outcome.json").is_file():
            continue
        shutil.rmtree(whole, ignore_errors=True)
        with tarfile.open(fileobj=content) as folder:
            folder.extractall(whole, filter="data")
        shutil.rmtree(runs / name, ignore_errors=True)
        (whole / name).rename(runs / name)
