"""Full disks: a small file system is filled while a run or an export writes."""

import contextlib
import itertools
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from faults import runs


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mounts a file system in memory, of fixed size, at a folder."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    """Whether this process may mount a file system."""
    try:
        with small_disk(folder / "trial", 1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def fill(disk: Path, left: int, process: subprocess.Popen | None = None) -> None:
    """Fills the disk except `left` bytes; repeats this until `process` ends."""
    for number in itertools.count():
        free = shutil.disk_usage(disk).free - left
        if free > 0:
            with (disk / f"ballast{number}").open("wb", buffering=0) as ballast:
                # Another process may have used the space.
                with contextlib.suppress(OSError):
                    os.posix_fallocate(ballast.fileno(), 0, free)
        if process is None or process.poll() is not None:
            return
        time.sleep(0.01)


def make_room(disk: Path) -> None:
    """Removes the files that `fill` wrote."""
    for ballast in disk.glob("ballast*"):
        ballast.unlink()


def fill_disks_of_runs(
    command: runs.Command, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Fills the disk of each run, frees the disk, and resumes the run."""
    reference = folder / "reference"
    command.finish(reference)
    expected, total = runs.result(reference), runs.newest_step(reference)
    reported = identical = 0
    for _ in range(count):
        with small_disk(folder / "disk", 64) as disk:
            workdir = disk / "run"
            with command.start(workdir) as process:
                runs.wait_for_checkpoint(workdir, generator.randrange(total * 3 // 4), process)
                fill(disk, generator.choice((0, 0, 50_000)), process)
                output = process.communicate(timeout=600)[0]
            last = output.splitlines()[-1]
            reported += process.returncode == 1 and "No space left" in last
            before = runs.newest_step(workdir)
            make_room(disk)
            command.finish(workdir)
            resumed = before > 0 and runs.start_steps(workdir)[-1] == before
            identical += resumed and runs.result(workdir) == expected
    return [
        ("runs that said that the disk is full", count, reported),
        ("runs that ended bit-identical once there was room", count, identical),
    ]


def fill_disks_of_exports(
    count: int, generator: random.Random, workdir: Path, folder: Path
) -> list[runs.Count]:
    """Exports to a full disk; counts the exports that say so and leave no file."""
    flags = ["--model=mnist_mlp_8x128", f"--weights={workdir}"]
    runs.finish(runs.start("export", [*flags, f"--export_dir={folder / 'reference'}"]))
    needed = sum(p.stat().st_size for p in (folder / "reference").rglob("*"))
    clean = 0
    for _ in range(count):
        with small_disk(folder / "disk", 64) as disk:
            fill(disk, generator.randrange(needed * 9 // 10))
            target = disk / "exports"
            arguments = [*flags, f"--export_dir={target}"]
            with runs.start("export", arguments) as process:
                last = process.communicate(timeout=600)[0].splitlines()[-1]
            remaining = [path for path in target.rglob("*") if path.is_file()]
            reported = last.startswith("error: ") and "No space left" in last
            make_room(disk)
            runs.finish(runs.start("export", arguments))
            clean += process.returncode == 1 and reported and not remaining
    return [("exports to a full disk that said so and left nothing", count, clean)]
