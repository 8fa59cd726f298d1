"""Signals to a run, a second process in its folder, and a changed config."""

import random
import shutil
import signal
import time
from pathlib import Path

from faults import runs

_SECONDS = 10  # limit from a signal to the exit
_AT_ONCE_SECONDS = 2


def signal_runs(
    kind: runs.Kind, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Stops runs by one and by two signals, and resumes them."""
    kind.finish(folder / "whole")
    expected = runs.result(folder / "whole")
    stopped = identical = left = 0
    for number in range(count):
        workdir = folder / f"stopped-{number}"
        sent = generator.choice((signal.SIGTERM, signal.SIGINT))
        with kind.start(workdir) as process:
            runs.wait_for_checkpoint(workdir, generator.randrange(150), process)
            begin = time.monotonic()
            process.send_signal(sent)
            output = process.communicate(timeout=600)[0]
            seconds = time.monotonic() - begin
        reported = f"error: {sent.name} after iteration" in output
        stopped += process.returncode == 143 and reported and seconds < _SECONDS
        # The first signal takes effect after a long call, the second one at once.
        with kind.start(folder / "held", runs.HELD) as process:
            for line in process.stdout:
                if line == "held\n":
                    break
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            waits = process.poll() is None
            begin = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=600)
        at_once = time.monotonic() - begin < _AT_ONCE_SECONDS
        left += waits and at_once and process.returncode == -signal.SIGTERM
        shutil.rmtree(folder / "held")
        before = runs.newest_step(workdir)
        kind.finish(workdir)
        resumed = runs.starts(workdir)[-1] == before
        identical += resumed and runs.result(workdir) == expected
        shutil.rmtree(workdir)
    return [
        (f"signals that ended a run in {_SECONDS} s with code 143", count, stopped),
        (f"second signals that ended it in {_AT_ONCE_SECONDS} s", count, left),
        ("stopped runs that ended bit-identical", count, identical),
    ]


def start_second_processes(
    kind: runs.Kind, count: int, _: random.Random, folder: Path
) -> list[runs.Count]:
    """Starts a second process in the folder of a run, and one with another config."""
    endless = kind.changed("--config.train.epochs=1000000")
    second = changed = allowed = 0
    for number in range(count):
        workdir = folder / f"run-{number}"
        with endless.start(workdir) as process:
            runs.wait_for_checkpoint(workdir, 0, process)
            with endless.start(workdir) as other:
                output = other.communicate(timeout=600)[0]
            owner = f"in use by process {process.pid} on "
            second += other.returncode == 1 and owner in output
            process.kill()
        epochs = runs.newest_step(workdir) // runs.EPOCH + 2
        other = kind.changed(f"--config.train.epochs={epochs}")
        with other.start(workdir) as process:
            output = process.communicate(timeout=600)[0]
        reported = f"train.epochs: 1000000 -> {epochs}" in output
        changed += process.returncode == 2 and reported
        with other.changed("--allow_config_change").start(workdir) as process:
            process.communicate(timeout=600)
        outcome = workdir / "outcome.json"
        recorded = outcome.is_file() and "config_changes" in outcome.read_text()
        allowed += process.returncode == 0 and recorded
        shutil.rmtree(workdir)
    return [
        ("second processes in a folder that were refused", count, second),
        ("changed configs that were refused", count, changed),
        ("changed configs that were allowed and recorded", count, allowed),
    ]
