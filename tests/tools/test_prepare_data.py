"""tools/prepare_data.py: flags, output and errors."""

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from absl import flags, logging

from elu_zoo import errors
from elu_zoo.data import imagenet, prepare
from elu_zoo.layers import statistics_file

TOOL = Path(__file__).parents[2] / "tools" / "prepare_data.py"
TOOL_FLAGS = "folder output data_dir image_size quality max_bad_examples".split()


def _remove_flags():
    """Removes the flags that this script and binaries defined in this process."""
    flags.FLAGS.unparse_flags()
    for name in list(flags.FLAGS):
        module = flags.FLAGS.find_module_defining_flag(name, "")
        if name in TOOL_FLAGS or module.startswith(("elu_zoo", "ml_collections")):
            delattr(flags.FLAGS, name)


@pytest.fixture
def run():
    """A function that runs the script with flags as in a new process."""
    verbosity = logging.get_verbosity()

    def run(*arguments):
        _remove_flags()
        specification = importlib.util.spec_from_file_location("prepare_data", TOOL)
        tool = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(tool)
        tool.main(flags.FLAGS(["prepare_data.py", *map(str, arguments)]))

    yield run
    _remove_flags()
    logging.set_verbosity(verbosity)


@pytest.fixture
def images(tmp_path):
    """A folder with ten JPEGs of two classes; one is grey, one is an empty file."""
    folder = tmp_path / "images"
    for i in range(10):
        path = folder / "ab"[i % 2] / f"{i}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full((40, 40, 1 if i == 4 else 3), 20 * i, "uint8")
        path.write_bytes(b"" if i == 7 else tf.io.encode_jpeg(pixels).numpy())
    return folder


def test_a_folder_is_prepared_and_reported(run, images, tmp_path, capsys):
    output = tmp_path / "out"
    options = ("--image_size=16", "--max_bad_examples=1")
    run(f"--folder={images}", f"--output={output}", *options)
    report = json.loads((output / "report.json").read_text())
    counts = report["images"]
    assert capsys.readouterr().out == (
        f"{output}: {counts['train']} of train, {counts['validation']} of validation.\n"
        "Unusual: 1 grey. Left out: 1.\n"
    )
    assert sum(counts.values()) == 9
    assert report["odd"] == {"grey": [f"{images}/a/4.JPEG"]}
    assert report["bad"] == [[f"{images}/b/7.JPEG", "the file is empty"]]
    data = imagenet.load(output, 16)
    assert data.image_shape == (16, 16, 3)
    assert len(data.train) + len(data.test) == 9


def test_a_report_without_unusual_images_says_none(run, images, tmp_path, capsys):
    for name in ("a/4", "b/7"):
        (images / f"{name}.JPEG").unlink()
    run(f"--folder={images}", f"--output={tmp_path / 'out'}", "--image_size=8")
    assert capsys.readouterr().out.endswith("\nUnusual: none. Left out: 0.\n")


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ((), ("", {"data_dir": None, "image_size": 256, "quality": 85})),
        (
            ("--data_dir=d", "--quality=7", "--folder=f", "--image_size=9"),
            ("f", {"data_dir": "d", "image_size": 9, "quality": 7}),
        ),
        (("--max_bad_examples=3",), ("", {"max_bad_examples": 3})),
    ],
)
def test_every_flag_is_passed_on(run, monkeypatch, options, arguments):
    calls = []

    def record(*positional, **named):
        calls.append((positional, named))
        return prepare.Report({}, {}, [])

    monkeypatch.setattr(prepare, "prepare", record)
    run("--output=out", *options)
    (((folder, output), named),) = calls
    assert (folder, output) == (arguments[0], "out")
    assert named.keys() == {"data_dir", "image_size", "quality", "max_bad_examples"}
    assert named | arguments[1] == named
    assert options or named["max_bad_examples"] == 0


def test_unusable_images_are_an_error_of_the_data(run, images, tmp_path, capsys):
    with pytest.raises(errors.DataError) as caught:
        run(f"--folder={images}", f"--output={tmp_path / 'out'}", "--image_size=16")
    text = str(caught.value)
    assert text.startswith("1 images cannot be used, but max_bad_examples is 0.")
    assert f"{images}/b/7.JPEG: the file is empty" in text and "\n" not in text
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "out").exists()


def test_sigterm_removes_the_output(run, images, tmp_path, monkeypatch):
    write_mean = statistics_file.write_mean

    def write_and_stop(*arguments):
        write_mean(*arguments)
        assert len(list(tmp_path.iterdir())) == 2
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(statistics_file, "write_mean", write_and_stop)
    before = signal.getsignal(signal.SIGTERM)
    options = ("--image_size=16", "--max_bad_examples=1")
    with pytest.raises(SystemExit, match="^error: interrupted; nothing was written.$"):
        run(f"--folder={images}", f"--output={tmp_path / 'out'}", *options)
    assert list(tmp_path.iterdir()) == [images]
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [("--output=x a b", "Unexpected arguments: a b. Remove them."),
     ("--folder=x", "Missing: --output. See --help.")]
)  # fmt: skip
def test_wrong_arguments_are_usage_errors(arguments, error):
    command = [sys.executable, TOOL, *arguments.split()]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (2, f"error: {error}\n")
