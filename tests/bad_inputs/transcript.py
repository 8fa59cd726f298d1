"""Transcript of what the package says about wrong inputs: class, exit code, seconds.

Run it after a change of error messages, and read the difference from transcript.txt, its
last output, whose inputs it repeats: no remedy may be lost. Paths depend on the machine.

    python tests/bad_inputs/transcript.py > new.txt

Seconds are in the last column of a row, to stderr, because they differ in each run.
Rows of Python calls have `class: message`, rows of commands `exit code: last line`.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

INPUTS = Path(__file__).with_name("transcript.txt").read_text()


def config(**fields):
    """Returns the config of a short run with other fields of `train`."""
    from elu_zoo.configs import quickstart

    result = quickstart.get_config("smoke=True")
    with result.unlocked():
        result.train.update(fields)
    return result


def write_files():
    """Writes the files that the inputs name into the working folder."""
    import keras

    import elu_zoo

    for name in ("text.weights.h5", "text.png", "text.npz", "text.py"):
        Path(name).write_text("no file of this kind")
    for name in ("empty.weights.h5", "empty.png"):
        Path(name).touch()
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("text")
    picture = np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)
    for name in ("good.png", "one_class/a/1.png", "one_class/a/2.png"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        keras.utils.save_img(name, picture, scale=False)
    model = elu_zoo.get_model("elu_cifar_11", width=0.1)
    model.save_weights("own.weights.h5")
    model.save("own.keras")


def call(text):
    """Returns the outcome of a Python call, in one line."""
    import elu_zoo

    names = {name: getattr(elu_zoo, name) for name in elu_zoo.__all__}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = eval(text, {**names, "np": np, "config": config})
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    notes = "".join(f" ({type(w.message).__name__}: {w.message})" for w in caught)
    return f"accepted: {type(result).__name__}{notes}"


def command(text):
    """Returns the exit code and the last line of a command."""
    name, *arguments = shlex.split(text, posix=False)
    program = Path(sys.executable).parent / f"elu-zoo-{name}"
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    lines = (result.stdout + result.stderr).strip().splitlines()
    trace = " TRACEBACK" if "Traceback" in result.stderr else ""
    return f"{result.returncode}:{trace} {lines[-1] if lines else ''}"


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files()
        for text in (json.loads(line)[0] for line in INPUTS.splitlines()):
            run = call if re.match(r"\w+\(", text) else command
            start = time.monotonic()
            outcome = re.sub(r"\s+", " ", run(text)).replace(folder, ".")
            outcome = re.sub(r"0x[0-9a-f]+", "0x", outcome)  # addresses of objects
            # A new name changes no row.
            outcome = re.sub(r"(Known: |or to one of ).*?\.( |$)", r"\1...\2", outcome)
            seconds = time.monotonic() - start
            print(json.dumps([text, outcome], ensure_ascii=False), flush=True)
            print(f"{seconds:6.1f} {text}", file=sys.stderr, flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
