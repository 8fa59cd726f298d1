"""Signals to a run, a second process in its folder, and a changed config."""

import random
import shutil
import signal
import time
from pathlib import Path

from faults import runs

_SECONDS = 10  # limit of the time from the first signal to the exit
_AT_ONCE_SECONDS = 2  # limit of the time from the second signal to the exit


def signal_runs(
    command: runs.Command, count: int, generator: random.Random, folder: Path
) -> list[runs.Count]:
    """Stops runs by one signal and resumes them; ends other runs by two signals.

    The other runs get both signals during one long training call, and are deleted.
    """
    command.finish(folder / "reference")
    expected = runs.result(folder / "reference")
    stopped = identical = ended = 0
    for number in range(count):
        workdir = folder / f"stopped-{number}"
        sent = generator.choice((signal.SIGTERM, signal.SIGINT))
        with command.start(workdir) as process:
            runs.wait_for_checkpoint(workdir, generator.randrange(150), process)
            begin = time.monotonic()
            process.send_signal(sent)
            output = process.communicate(timeout=600)[0]
            seconds = time.monotonic() - begin
        reported = f"error: {sent.name} after iteration" in output
        stopped += process.returncode == 143 and reported and seconds < _SECONDS
        # The first signal waits until the call returns; the second ends the run.
        with command.start(folder / "held", runs.HELD) as process:
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
        ended += waits and at_once and process.returncode == -signal.SIGTERM
        shutil.rmtree(folder / "held")
        before = runs.newest_step(workdir)
        command.finish(workdir)
        resumed = runs.start_steps(workdir)[-1] == before
        identical += resumed and runs.result(workdir) == expected
        shutil.rmtree(workdir)
    return [
        (f"signals that ended a run in {_SECONDS} s with code 143", count, stopped),
        (f"second signals that ended a run in {_AT_ONCE_SECONDS} s", count, ended),
        ("stopped runs that ended bit-identical", count, identical),
    ]


def start_second_processes(
    command: runs.Command, count: int, _: random.Random, folder: Path
) -> list[runs.Count]:
    """Starts a second process in a run's folder, then resumes with another config.

    The other config is first refused, and then allowed by --allow_config_change.
    """
    endless = command.with_flags("--config.train.epochs=1000000")
    refused = config_refused = config_allowed = 0
    for number in range(count):
        workdir = folder / f"run-{number}"
        with endless.start(workdir) as process:
            runs.wait_for_checkpoint(workdir, 0, process)
            with endless.start(workdir) as second:
                output = second.communicate(timeout=600)[0]
            owner = f"in use by process {process.pid} on "
            refused += second.returncode == 1 and owner in output
            process.kill()
        epochs = runs.newest_step(workdir) // runs.EPOCH + 2
        changed = command.with_flags(f"--config.train.epochs={epochs}")
        with changed.start(workdir) as process:
            output = process.communicate(timeout=600)[0]
        reported = f"train.epochs: 1000000 -> {epochs}" in output
        config_refused += process.returncode == 2 and reported
        with changed.with_flags("--allow_config_change").start(workdir) as process:
            process.communicate(timeout=600)
        outcome = workdir / "outcome.json"
        recorded = outcome.is_file() and "config_changes" in outcome.read_text()
        config_allowed += process.returncode == 0 and recorded
        shutil.rmtree(workdir)
    return [
        ("second processes in a folder that were refused", count, refused),
        ("changed configs that were refused", count, config_refused),
        ("changed configs that were allowed and recorded", count, config_allowed),
    ]
