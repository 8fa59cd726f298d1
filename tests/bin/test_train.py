"""elu-zoo-train: runs, configs, flags and errors."""

import json

import pytest

SMOKE = "--config=quickstart:smoke=True"
RUN = "runs/quickstart/elu-s0-smoke"
CONFIG = """
from elu_zoo.configs import quickstart

def get_config(arg):
    config = quickstart.get_config("smoke=True,seed=4")
    config.name = arg or "mine"
    return config
"""


def test_a_config_is_loaded_by_path_with_an_argument(cli, tmp_path):
    (tmp_path / "mine.py").write_text(CONFIG)
    result = cli("train", "--config", "mine.py:other", "--config.train.epochs=1")
    assert result.code == 0, result.err
    folder = tmp_path / "runs/other/elu-s4-smoke"
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 1
    entry = json.loads((folder / "outcome.json").read_text())
    expected = "elu-zoo-train --config mine.py:other --config.train.epochs=1"
    assert entry["command"] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--config is missing. Set it to the path of a config, or to one of elu_"),
        (["--config=quickstar"], "Unknown config 'quickstar'. Did you mean 'quicks"),
        (["--config=quickstart:sed=1"], "config argument 'sed'. Did you mean 'seed'?"),
    ],
)
def test_a_bad_config_is_refused(cli, arguments, message):
    result = cli("train", *arguments)
    assert result.code == 2 and message in result.error


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--config.train.epoch=3", "'train.epoch'. Did you mean 'train.epochs'?"),
        ("--config.train=3", "does not set one whole entry"),
        ("--config.train.freeze=('body',)", "has no entry train.freeze. Add it"),
        ("--config.train.epochs=abc", "--config.train.epochs=abc"),
        ("--config.train.epochs", "Missing value for flag --config.train.epochs"),
        ("--config.train.epochs=0", "train.epochs must be >= 1. Received: 0."),
        ("--wrkdir=x", "Unknown flag '--wrkdir'. Did you mean '--workdir'?"),
        ("--workdir=", "--workdir=: Set it"),
        ("--strategy=mirored", "value should be one of <auto|one|mirrored"),
        ("--num_devices=7", "num_devices is 7"),
        ("--accumulate=3", "Set it to 63 or"),
        ("extra", "Unexpected arguments: extra."),
    ],
)
def test_a_bad_flag_is_refused(cli, argument, message):
    result = cli("train", SMOKE, argument)
    assert result.code == 2 and message in result.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config.train.batch_size=641"], "do not fill one batch of 641"),
        (["--config.data.name=mnist", "--data_dir=nowhere"], "tfds build mnist"),
        (["--workdir=a_file"], "a_file"),
    ],
)
def test_a_failure_is_an_error_of_one_line(cli, tmp_path, arguments, message):
    (tmp_path / "a_file").touch()
    result = cli("train", SMOKE, *arguments)
    assert result.code == 1 and message in result.error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("def get_config(arg=''):\n    raise KeyError('x')", "raises KeyError: 'x'"),
        ("def get_config(arg=''\n", "raises SyntaxError"),
        ("x = 1", "must have a function get_config"),
        ("def get_config(arg=''):\n    pass", "returns an ml_collections.ConfigDict"),
    ],
)
def test_the_error_of_a_config_names_its_cause(cli, tmp_path, content, message):
    (tmp_path / "mine.py").write_text(content)
    result = cli("train", "--config=mine.py")
    assert result.code == 2 and message in result.error


@pytest.mark.parametrize(
    ("argument", "file"),
    [("--config.train.epochs=0", "config_checks.py"), ("--config.new=1", "config.py")],
)
def test_debug_prints_the_traceback(cli, argument, file):
    result = cli("train", SMOKE, argument, "--debug=True")
    assert result.code == 2
    assert "Traceback" in result.err and file in result.err
    assert result.err.splitlines()[-1].startswith("error: ")


@pytest.mark.slow
def test_random_layers_are_trained_on_two_devices(process):
    # Logical devices must be made before the description of a random layer starts
    # TensorFlow.
    result = process(
        "train",
        f"{SMOKE},activation=rrelu",
        "--compile=off",
        "--strategy=mirrored",
        "--num_devices=2",
    )
    assert result.code == 0, result.err
    assert "2 replica(s)" in result.err
