"""Trains a queue of runs on a lent machine with a GPU, JAX and no TensorFlow.

python tools/gpu_queue.py pack KIT [--queue=tools/gpu_queue.txt] [--max_mb=66]
    On this machine: writes the folder KIT with the queue's remaining lines, their data, missing
    wheels, and stopped runs. Copy parts of KIT/data and KIT/runs in calls of their own, part 0
    last, and the rest with `run`.
python tools/gpu_queue.py run KIT OUTPUT --minutes=9 --jobs=8 [--again]
    On the other machine, in a copy of the checkout: trains runs until the time is up, and writes
    ended and then stopped runs as files that a call brings back. The next call writes the rest;
    --minutes=0 does nothing else, and --again writes all ended runs again, if files were lost.
python tools/gpu_queue.py with KIT COMMAND...
    On the other machine: runs a command, such as tools/gpu_probe.py, as runs are run.
python tools/gpu_queue.py collect OUTPUT
    On this machine: adds rows of finished runs to configs/results/, and keeps folders in --runs.

A line of tools/gpu_queue.txt is an elu-zoo-train command, or `<experiment> <budget>
<activation>[_bn] <seed> [<variant>]` for a run of elu-zoo-reproduce, whose curves are measured too.
A run without a test error and a diverged one have a row in trials.csv, any other in results.csv.
"""

import argparse
import contextlib
import importlib.util
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gpu_files
from gpu_jobs import Job, read_queue

ROOT = Path(__file__).resolve().parent.parent
QUEUE = ROOT / "tools" / "gpu_queue.txt"
RESULTS = ROOT / "configs" / "results"
TRIALS = "config", "train_loss", "validation_loss", "validation_error_percent", "commit"
START_SECONDS = 60.0  # of a run outside its iterations, as for compilation
STOP_SECONDS = 25.0  # for checkpoints and files after the time is up


def pack(kit: Path, runs: Path, results: Path, queue: Path, max_mb: float) -> None:
    """Writes the kit, and refuses a kit of which a call would carry too much."""
    import gpu_kit  # needs the package, which `run` has not prepared yet

    from elu_zoo.training import result

    jobs = [job for job in read_queue(queue) if not job.is_stored(results)]
    shutil.rmtree(kit / "runs", ignore_errors=True)
    (kit / "wheels").mkdir(parents=True, exist_ok=True)
    lines = [f"{job.images()} {job.config().model.name} {job.line}\n" for job in jobs]
    (kit / "queue.txt").write_text("".join(lines))
    (kit / "commit.txt").write_text(result.commit())
    for name in sorted({job.config().data.name for job in jobs}):
        if not (kit / f"data/{name}.zip.0").exists():
            gpu_kit.pack_data(name, kit / "data")
    if not any((kit / "wheels").iterdir()):
        gpu_kit.download_wheels(kit / "wheels")
    for name in (job.name for job in jobs if (runs / job.name / "checkpoints").is_dir()):
        shutil.copytree(runs / name, kit / "runs" / name)
    parts = {path: gpu_kit.size(path) for path in [*kit.glob("data/*"), *kit.glob("runs/*")]}
    rest = gpu_kit.size(kit) - sum(parts.values())
    largest = gpu_kit.tree_size() + max([rest, *parts.values()])
    print(f"{len(jobs)} runs. The checkout has {gpu_kit.tree_size() / 1e6:.1f} MB.")
    print("\n".join(f"{size / 1e6:8.1f} MB {path}" for path, size in parts.items()))
    if largest > max_mb * 1e6:
        raise SystemExit(
            f"A call with one part of the kit would carry {largest / 1e6:.1f} MB; "
            f"--max_mb is {max_mb}. Leave files out with git sparse-checkout."
        )


def run(
    kit: Path, output: Path, minutes: float, jobs: int, runs: Path, again: bool = False
) -> None:
    """Trains the kit's runs, `jobs` at once, and stops the rest when the time is up."""
    end, later = time.monotonic() + 60 * minutes - STOP_SECONDS, runs / "later"
    for folder in output, later:
        folder.mkdir(parents=True, exist_ok=True)
    rows = [row.split(" ", 2) for row in (kit / "queue.txt").read_text().splitlines()]
    networks = {Job(line).name: network for _, network, line in rows}
    waiting = {Job(line): int(images) for images, _, line in rows}
    for job in [job for job in waiting if gpu_files.has_ended(runs / job.name)]:
        del waiting[job]
        if again or (runs / job.name / gpu_files.UNSENT).exists():
            gpu_files.add(runs / job.name, output, later)
    running, statuses = dict[Job, subprocess.Popen](), list[int]()
    with mps(_prepare(kit, runs)) if minutes else contextlib.nullcontext({}) as environment:
        while waiting or running:
            for job in [job for job in running if running[job].poll() is not None]:
                statuses.append(running.pop(job).returncode)
                _end(job, statuses[-1], runs, output)
            if (left := end - time.monotonic()) <= 0 or len(statuses) >= jobs and all(statuses):
                break
            fitting = [j for j in waiting if _seconds(j, waiting[j], networks, runs) <= left]
            # A run that cannot end is better than none: its checkpoint may come back.
            for job in fitting or ([] if running else list(waiting)):
                if len(running) < jobs:
                    running[job] = _start(job, kit, runs, environment)
                    del waiting[job]
            if not running:
                break
            time.sleep(0.2)
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        while running:  # a run that compiles sees the signal late
            if time.monotonic() > end + STOP_SECONDS - 5:
                for process in running.values():
                    process.kill()
            for job in [job for job in running if running[job].poll() is not None]:
                _end(job, running.pop(job).returncode, runs, output)
            time.sleep(0.2)
    gpu_files.send(output, later)
    stopped = [path.parent for path in runs.glob(f"*/{gpu_files.UNSENT}")]
    for folder in sorted(stopped, key=lambda folder: gpu_files.newest(folder).name, reverse=True):
        gpu_files.add(folder, output)
    left = [*later.iterdir(), *runs.glob(f"*/{gpu_files.UNSENT}")]
    print(f"{len(left)} files or stopped runs for the next call, {len(waiting)} runs not started")


def _start(job: Job, kit: Path, runs: Path, environment: dict[str, str]) -> subprocess.Popen:
    """Starts a run, whose messages are written to its folder."""
    print(f"started {job.line}", flush=True)
    (runs / job.name).mkdir(parents=True, exist_ok=True)
    (runs / job.name / gpu_files.UNSENT).touch()  # also for a call after a kill of this one
    command = [sys.executable, __file__, "job", str(kit), str(runs), job.line]
    with (runs / job.name / "log.txt").open("a") as log:
        streams = {"stdout": log, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, env=environment, **streams)


@contextlib.contextmanager
def mps(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """Starts NVIDIA's Multi-Process Service for a block: 1.75 times as fast (one H100)."""
    control, folder = shutil.which("nvidia-cuda-mps-control"), "/tmp/mps"
    variables = {f"CUDA_MPS_{name}_DIRECTORY": folder for name in ("PIPE", "LOG")}
    with_mps = {**environment, **variables}
    if control is None:
        print("without MPS: no nvidia-cuda-mps-control")
        yield environment
        return
    subprocess.run([control, "-d"], env=with_mps)  # fails if a killed call has left one
    try:
        works = _succeeds([control], 5, with_mps, input=b"get_server_list\n")
        start = [sys.executable, "-c", "import jax; jax.numpy.ones(1) + 1"]
        works = works and _succeeds(start, 90, with_mps)
        print("with MPS" if works else "without MPS, which starts but does not work")
        yield with_mps if works else environment
    finally:  # which waits for clients that were killed
        _succeeds([control], 5, with_mps, input=b"quit\n")


def _succeeds(command: list[str], timeout: float, environment: dict[str, str], **options) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return not subprocess.run(command, timeout=timeout, env=environment, **options).returncode
    return False


def _prepare(kit: Path, runs: Path) -> dict[str, str]:
    """Installs wheels, data and stopped runs; returns the environment of the runs."""
    home, site = runs / "home", runs / "site"
    variables = {"KERAS_BACKEND": "jax", "ELU_ZOO_HOME": str(home)}
    variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    variables["JAX_COMPILATION_CACHE_DIR"] = str(home / "compiled")
    if shutil.which("nvidia-smi"):
        variables["JAX_PLATFORMS"] = "cuda"  # no run on the CPU if the GPU does not start
    variables["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(site)])
    configs = ROOT / "elu_zoo" / "configs"
    if not configs.is_dir():  # a copy of the tree may lack links
        configs.unlink(missing_ok=True)
        configs.symlink_to(ROOT / "configs")
    if importlib.util.find_spec("keras") is None and not site.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
        wheels = map(str, (kit / "wheels").glob("*.whl"))
        part = site.with_suffix(".part")
        subprocess.run([*pip, f"--target={part}", *wheels], check=True)
        part.rename(site)
    environment = {**os.environ, **variables}
    environment.pop("TFDS_DATA_DIR", None)
    packed = {path.name.partition(".")[0] for path in kit.glob("data/*.zip.0")}
    if not all((home / f"{name}.unpacked").exists() for name in packed):
        unpack = [sys.executable, ROOT / "tools" / "gpu_kit.py", kit / "data"]
        subprocess.run(unpack, env=environment, check=True)
    for folder in (kit / "runs").glob("*"):
        if not (runs / folder.name).exists():  # else newer, from an earlier call
            shutil.copytree(folder, runs / folder.name)
    return environment


def _seconds(job: Job, images: int, nets: dict[str, str], runs: Path) -> float:
    """Returns an estimate of a run's time by the speeds of its network's runs."""
    speeds = {path.parent.name: _speed(path) for path in runs.glob("*/timing.jsonl")}
    own = [speeds[name] for name in speeds if nets.get(name) == nets[job.name]]
    speed = statistics.median_low([*own, math.inf])
    if math.isinf(speed):  # no run of this network has a speed yet
        speed = statistics.median_low([*speeds.values(), math.inf])
    rows = gpu_files.rows(runs / job.name / "timing.jsonl")
    done = rows[-1]["step"] / rows[0]["iterations"] if rows else 0
    return START_SECONDS + images * (1 - done) / speed


def _speed(timing: Path) -> float:
    """Returns the newest speed of a run in images a second, or infinity."""
    speeds = [row.get("examples_per_second") for row in gpu_files.rows(timing)]
    return next(filter(None, reversed(speeds)), math.inf)


def _end(job: Job, status: int, runs: Path, output: Path) -> None:
    """Writes the files of a run that has ended, and prints its last measures."""
    if gpu_files.has_ended(runs / job.name):
        gpu_files.add(runs / job.name, output, runs / "later")
    rows = gpu_files.rows(runs / job.name / "metrics.jsonl")
    speed, log = _speed(runs / job.name / "timing.jsonl"), runs / job.name / "log.txt"
    end = rows[-1:] if status in (0, 143) else log.read_text(errors="replace")[-1000:]
    print(f"status {status}, {speed:.0f} images/s, {job.line}", end, flush=True)


def work(kit: Path, runs: Path, job: Job) -> None:
    """Trains one run in this process."""
    from elu_zoo import errors, files
    from elu_zoo.training import result, train

    commit = (kit / "commit.txt").read_text()
    result.commit = lambda: commit  # the other machine has no git history
    trial = None if job.trained else job.trial()[2]
    command, observers = (trial.command, trial.observers) if trial else (job.line, ())
    workdir = runs / job.name
    try:
        train(job.config(), workdir, observers=observers, command=command)
    except errors.TrainingError as error:
        end = {"reason": str(error), "commit": commit}
        files.write_json(workdir / gpu_files.DIVERGED, end)
    except errors.Interrupted as error:
        print(error)
        sys.exit(143)


def collect(output: Path, runs: Path, results: Path, *queues: Path) -> None:
    """Keeps the folders of runs, and adds the rows of finished runs, once each."""
    jobs = {job.name: job for queue in queues for job in read_queue(queue)}
    gpu_files.extract(output, runs)
    failed = [f.name for f in runs.iterdir() if gpu_files.has_ended(f) and f.name not in jobs]
    for name, job in jobs.items():
        if gpu_files.has_ended(runs / name) and not job.is_stored(results):
            try:
                _add(job, runs / name, results)
                print(f"added {job.line}")
            except (SystemExit, ValueError, OSError, KeyError) as error:
                failed.append(f"{name}: {error}")
    if failed:
        raise SystemExit(f"Damaged, or without a line of the queues: {'; '.join(failed)}")


def _add(job: Job, workdir: Path, results: Path) -> None:
    """Adds the rows of a finished or diverged run."""
    from elu_zoo.results import add, read_file, write

    diverged = workdir / gpu_files.DIVERGED
    end = json.loads(diverged.read_text()) if diverged.is_file() else {}
    measured = {} if end else _measured(job, workdir)
    if "test_loss" in measured:
        add(results / "results.csv", measured)
    elif job.trained:
        new = {column: (measured or end).get(column, "") for column in TRIALS}
        rows = [*read_file(results / "trials.csv"), {**new, "config": job.trained}]
        write(results / "trials.csv", TRIALS, rows)
    if not job.trained:
        from elu_zoo.paper.experiments import EXPERIMENTS
        from elu_zoo.paper.views import points

        name, plan, trial = job.trial()
        measure = EXPERIMENTS[name].measure
        curves = [{"diverged": end["reason"]}] if end else measure(trial, workdir, plan)
        points(name, results).put(trial, curves)


def _measured(job: Job, workdir: Path) -> dict:
    """Returns the row of a finished run, after the checks of local runs."""
    from elu_zoo import files
    from elu_zoo.results import row
    from elu_zoo.training import result
    from elu_zoo.training.config import differences, resolve
    from elu_zoo.training.record import resuming
    from elu_zoo.weights import manifest

    entry = result.find(workdir)
    changed = differences(resolve(job.config()).values, entry["config"])
    weights = workdir / (entry["tag"] + manifest.SUFFIX)
    if changed or files.sha256(weights) != entry["sha256"]:
        raise SystemExit(f"{workdir} is damaged or of another line: {changed}. Delete it.")
    if not job.trained:
        resuming.check_observed(workdir, job.trial()[2].observers)
    return row(workdir, entry)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=Path, default=Path.home() / "runs" / "gpu")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = {name: verbs.add_parser(name) for name in ("pack", "run", "with", "collect", "job")}
    for name in "pack", "run", "with", "job":
        verb[name].add_argument("kit", type=Path)
    verb["pack"].add_argument("--queue", type=Path, default=QUEUE)
    verb["pack"].add_argument("--max_mb", type=float, default=66)
    for name in "run", "collect":
        verb[name].add_argument("output", type=Path)
    verb["run"].add_argument("--minutes", type=float, required=True)
    verb["run"].add_argument("--jobs", type=int, required=True)
    verb["run"].add_argument("--again", action="store_true")
    verb["with"].add_argument("command", nargs=argparse.REMAINDER)
    verb["job"].add_argument("job_runs", type=Path)
    verb["job"].add_argument("line")
    given = parser.parse_args()
    if given.verb in ("pack", "collect") and not (RESULTS / "results.csv").is_file():
        raise SystemExit(f"{RESULTS} lacks results.csv: bring it back by git sparse-checkout.")
    if given.verb == "pack":
        pack(given.kit, given.runs, RESULTS, given.queue, given.max_mb)
    elif given.verb == "run":
        run(given.kit, given.output, given.minutes, given.jobs, given.runs, given.again)
    elif given.verb == "with":
        environment = _prepare(given.kit, given.runs)
        sys.exit(subprocess.run(given.command, env=environment).returncode)
    elif given.verb == "collect":
        collect(given.output, given.runs, RESULTS, *QUEUE.parent.glob("gpu_queue*.txt"))
    else:
        work(given.kit, given.job_runs, Job(given.line))


if __name__ == "__main__":
    main()
