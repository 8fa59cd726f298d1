"""Files of tools/gpu_queue.py that travel back: folders of runs in tar files.

Nothing here imports the package, because `run` has to prepare it first.
"""

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

FILE_BYTES, FILES = 15_900_000, 4  # of a tar file; files that travel back


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the complete rows of a .jsonl file that may be missing."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def add(folder: Path, output: Path) -> bool:
    """Adds a run's folder to a tar file that has room, or to a new one.

    A run that has not ended keeps its last checkpoint, if a file can hold it; others
    travel without. Returns False if no file has room.
    """
    ended = [(folder / name).is_file() for name in ("outcome.json", "diverged.json")]
    last = None if any(ended) else max(folder.glob("checkpoints/step-*"), default=None)
    member = _pack(folder, last)
    if len(member) > FILE_BYTES:
        print(f"{folder.name}: its checkpoint has {len(member)} bytes and stays behind")
        member = _pack(folder, None)
    files = sorted(output.glob("runs-*.tar"))
    room = [f for f in files if f.stat().st_size + len(member) <= FILE_BYTES]
    if not room and len(files) == FILES:
        return False
    chosen = room[0] if room else output / f"runs-{len(files)}.tar"
    temporary = chosen.with_suffix(".tmp")
    if chosen.exists():
        shutil.copyfile(chosen, temporary)
    with tarfile.open(temporary, "a") as archive:
        info = tarfile.TarInfo(f"{folder.name}.tar.gz")
        info.size = len(member)
        archive.addfile(info, io.BytesIO(member))
    temporary.replace(chosen)  # a killed process leaves the old file
    return True


def _pack(folder: Path, checkpoint: Path | None) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path in sorted(folder.rglob("*")):
            is_kept = "checkpoints" not in path.parts or path == checkpoint
            if path.is_file() and is_kept:
                archive.add(path, str(path.relative_to(folder.parent)))
    return content.getvalue()


def extract(output: Path, runs: Path) -> None:
    """Replaces the folders of runs that have not ended by those of the tar files."""
    for path in sorted(output.glob("runs-*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.removesuffix(".tar.gz")
                if (runs / name / "outcome.json").is_file():
                    continue
                content = io.BytesIO(archive.extractfile(member).read())
                part = runs / ".part"
                shutil.rmtree(part, ignore_errors=True)
                with tarfile.open(fileobj=content) as folder:
                    folder.extractall(part, filter="data")
                shutil.rmtree(runs / name, ignore_errors=True)
                (part / name).rename(runs / name)
