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
    """Adds a run's folder to the newest tar file, or to a new one if that is full.

    A run that is not finished keeps its last checkpoint; others travel without. Returns
    False if all files are full.
    """
    content = io.BytesIO()
    finished = (folder / "outcome.json").is_file()
    last = max(folder.glob("checkpoints/step-*"), default=None)
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path in sorted(folder.rglob("*")):
            is_last = not finished and last is not None and last in path.parents
            if path.is_file() and (is_last or "checkpoints" not in path.parts):
                archive.add(path, str(path.relative_to(folder.parent)))
    number = len(list(output.glob("runs-*.tar")))
    newest = output / f"runs-{max(0, number - 1)}.tar"
    size = newest.stat().st_size if newest.exists() else 0
    if size + content.tell() > FILE_BYTES:
        newest = output / f"runs-{number}.tar"
        if number == FILES:
            return False
    temporary = newest.with_suffix(".tmp")
    if newest.exists():
        shutil.copyfile(newest, temporary)
    with tarfile.open(temporary, "a") as archive:
        member = tarfile.TarInfo(f"{folder.name}.tar.gz")
        member.size = content.tell()
        content.seek(0)
        archive.addfile(member, content)
    temporary.replace(newest)  # a killed process leaves the old file
    return True


def extract(output: Path, runs: Path) -> None:
    """Replaces the folders of runs by those of the tar files."""
    for path in sorted(output.glob("runs-*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                content = io.BytesIO(archive.extractfile(member).read())
                shutil.rmtree(runs / member.name.removesuffix(".tar.gz"), True)
                with tarfile.open(fileobj=content) as folder:
                    folder.extractall(runs, filter="data")
