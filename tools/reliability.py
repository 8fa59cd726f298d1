"""Counts how often training and exports survive kills and other faults.

python tools/reliability.py --kills=100 --corruptions=100 --seed=0

Of --kills, 50 % hit runs of a dense network on digits, 40 % hit runs of a convolutional
network on CIFAR-10 with two phases of dropout, and 10 % hit exports. In addition, 20 %
of --kills hit runs on JAX. A kill comes at a random time, after a random iteration, or
before a random function call that changes the file system, evaluates or trains. The run
is resumed and must be equal bit by bit to a run without kills.

Signals, second processes, changed configs and full disks hit runs on digits, each with
5 % of the number of kills. Full disks need root, to mount a small file system.
"""

import concurrent.futures
import csv
import functools
import io
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from absl import app, flags
from faults import damages, disks, kills, runs, stops

from elu_zoo import errors, files

_ROOT = Path(__file__).resolve().parent.parent
_KILLS = flags.DEFINE_integer("kills", 100, "Number of kills.", 0)
_CORRUPTIONS = flags.DEFINE_integer("corruptions", 100, "Flipped bits of a checkpoint.", 0)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of random choices.")
_DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "Folder with CIFAR-10; $TFDS_DATA_DIR by default."
)
_CSV = flags.DEFINE_string(
    "output_csv", str(_ROOT / "configs" / "results" / "reliability.csv"), "CSV file for the counts."
)

_FAILURES = errors.EluZooError, OSError, subprocess.SubprocessError
_FIELDS = ("fault", "what", "tried", "as_promised", "seed", "date")


def jobs(folder: Path) -> list[tuple[str, Callable, int]]:
    """Returns tuples of a fault, the function that causes it, and how many times."""
    count, flips = _KILLS.value, _CORRUPTIONS.value
    few = -(-count // 20)  # 5 %, rounded up
    planned = [
        ("kill", functools.partial(kills.kill_runs, runs.DIGITS), count // 2),
        ("kill", kill_image_runs, count * 2 // 5),
        ("kill", functools.partial(kills.kill_runs, runs.JAX), count // 5),
        ("kill", kill_exports, count - count // 2 - count * 2 // 5),
        ("damage", damages.damage_checkpoints, flips),
        ("damage", functools.partial(damages.damage_runs, runs.DIGITS), flips // 10),
        ("stop", functools.partial(stops.signal_runs, runs.DIGITS), few),
        ("stop", functools.partial(stops.start_second_processes, runs.DIGITS), few),
    ]
    if disks.can_mount(folder):
        planned.append(("full disk", functools.partial(disks.fill_disks_of_runs, runs.DIGITS), few))
        planned.append(("full disk", fill_disks_of_exports, few))
    else:
        print("Full disks are left out: only root may mount disks.", file=sys.stderr)
    return [job for job in planned if job[2]]


def kill_image_runs(count: int, generator: random.Random, folder: Path) -> list[runs.Count]:
    command = runs.images(folder, _DATA_DIR.value)
    return kills.kill_runs(command, count, generator, folder)


def kill_exports(count: int, generator: random.Random, folder: Path) -> list[runs.Count]:
    runs.DIGITS.finish(folder / "run")
    return kills.kill_exports(count, generator, folder / "run", folder)


def fill_disks_of_exports(count: int, generator: random.Random, folder: Path) -> list[runs.Count]:
    runs.DIGITS.finish(folder / "run")
    return disks.fill_disks_of_exports(count, generator, folder / "run", folder)


def write(path: Path, rows: list[tuple]) -> None:
    """Writes the counts as CSV, atomically."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_FIELDS)
    date = time.strftime("%Y-%m-%d", time.gmtime())
    writer.writerows([*row, _SEED.value, date] for row in rows)
    files.write_bytes(path, buffer.getvalue().encode())


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}.")
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as name:
        os.environ["ELU_ZOO_HOME"] = f"{name}/home"
        work = jobs(Path(name))
        # One job per core, because processes spend most of their time starting.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = []
            for number, (_, make, count) in enumerate(work):
                folder = Path(name) / str(number)
                folder.mkdir()
                generator = random.Random(f"{_SEED.value} {number}")
                futures.append(pool.submit(make, count, generator, folder))
            for (fault, *_), future in zip(work, futures, strict=True):
                try:
                    rows += [(fault, *row) for row in future.result()]
                except _FAILURES as error:
                    failed.append(f"{fault}: {error}")
                    # A failed job counts as a broken promise.
                    rows.append((fault, f"jobs without {type(error).__name__}", 1, 0))
    for row in rows:
        print(f"{row[1]}: {row[3]} of {row[2]}")
    write(Path(_CSV.value), rows)
    if failed or any(good != tried for *_, tried, good in rows):
        sys.exit("\n".join(["Some promises were broken.", *failed]))


if __name__ == "__main__":
    app.run(main)
