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
UNSENT = "unsent"  # in the folder of a run of which files have to be sent
_TARS = "runs-*.tar"


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the complete rows of a .jsonl file that may be missing."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def has_ended(folder: Path) -> bool:
    """Returns whether the run in a folder is finished or diverged."""
    return any((folder / name).is_file() for name in ("outcome.json", DIVERGED))


def newest(folder: Path) -> Path:
    """Returns a run's newest checkpoint, or a missing file."""
    return max(folder.glob("checkpoints/step-*"), default=folder / "none")


def add(folder: Path, output: Path, later: Path | None = None) -> bool:
    """Adds a run's folder to tar files of the output and, beyond FILES of them, of `later`.

    The folder has the last checkpoint if the run has not ended and a file can hold it.
    Returns False if there is no room and no `later`.
    """
    last, is_stopped = newest(folder), not has_ended(folder)
    fits = is_stopped and last.is_file() and last.stat().st_size <= FILE_BYTES
    content = _pack(folder, last if fits else None)
    if is_stopped and len(content) > FILE_BYTES:  # the second part might have no room
        content = _pack(folder, None)
    stamp, starts = time.time_ns(), range(0, len(content), FILE_BYTES)
    for i, start in enumerate(starts, 1):
        part = content[start : start + FILE_BYTES]
        if not _append(f"{stamp}-{i:03}of{len(starts):03}", part, output, later):
            return False
    (folder / UNSENT).unlink(missing_ok=True)
    return True


def _append(name: str, content: bytes, output: Path, later: Path | None) -> bool:
    """Adds a member to a tar file that has room, or to a new one; False without room."""
    sent = sorted(output.glob(_TARS))
    folder = output if len(sent) < FILES else later
    files = [*sent, *(sorted(later.glob(_TARS)) if later else ())]
    room = [f for f in files if f.stat().st_size + len(content) <= FILE_BYTES]
    if not room and folder is None:
        return False
    chosen = room[0] if room else folder / f"runs-{time.time_ns()}.tar"
    temporary = chosen.with_suffix(".tmp")
    if chosen.exists():
        shutil.copyfile(chosen, temporary)
    with tarfile.open(temporary, "a") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    temporary.replace(chosen)  # a killed process leaves the old file
    return True


def _pack(folder: Path, checkpoint: Path | None) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            is_kept = "checkpoints" not in path.parts or path == checkpoint
            if path.is_file() and is_kept and path.name != UNSENT:
                archive.add(path, str(path.relative_to(folder.parent)))
    return content.getvalue()


def send(output: Path, later: Path) -> None:
    """Moves files that wait to the output, as many as it may have."""
    for path in sorted(later.glob(_TARS))[: FILES - len(list(output.glob(_TARS)))]:
        shutil.move(path, output / path.name)


def extract(output: Path, runs: Path) -> None:
    """Replaces folders of runs that have not ended by those of the tar files, if newer."""
    parts, whole = runs / ".parts", runs / ".whole"
    for path in sorted(output.glob(_TARS)):
        with tarfile.open(path) as archive:
            archive.extractall(parts, filter="data")
    for stamp in sorted({path.name.partition("-")[0] for path in parts.glob("*of*")}):
        pieces = sorted(parts.glob(f"{stamp}-*"))
        if len(pieces) < int(pieces[0].name[-3:]):
            print(f"{len(pieces)} parts of a run wait for the others, of another call")
            continue
        shutil.rmtree(whole, ignore_errors=True)
        content = io.BytesIO(b"".join(piece.read_bytes() for piece in pieces))
        with tarfile.open(fileobj=content) as archive:
            archive.extractall(whole, filter="data")
        (folder,) = whole.iterdir()
        kept = runs / folder.name
        is_newer = has_ended(folder) or newest(folder).name >= newest(kept).name
        if is_newer and not has_ended(kept):
            shutil.rmtree(kept, ignore_errors=True)
            folder.rename(kept)
        for piece in pieces:
            piece.unlink()
