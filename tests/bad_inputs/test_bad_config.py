"""Commands with invalid flags or configs, which are refused and write no files.

More wrong flags are in tests/bin, and more wrong fields in tests/training.
"""

import json

import numpy as np
import pytest
from binaries import run_here

SMOKE = "--config=quickstart:smoke=True"
RATES_FLAG = "--config.train.learning_rates="
BOUNDARIES_FLAG = "--config.train.boundaries="
NAME_ERROR = 'The config entry name must be a relative path without ".."'
CASES = [
    ("misspelt_section", ["--config.trian.epochs=2"], "Did you mean 'train.epochs'?"),
    (
        "misspelt_field_of_an_activation",
        ["--config.model.activation.alhpa=1"],
        "Did you mean 'model.activation.alpha'?",
    ),
    ("field_without_a_name", ["--config.=3"], "Unknown config entry ''"),
    (
        "group",
        ["--config.model.activation=relu"],
        "Set --config.model.activation.alpha=..., --config.model.activation.name=...",
    ),
    (
        "element_of_a_tuple",
        ["--config.train.learning_rates[0]=0.2"],
        "does not set one whole entry. Set --config.train.learning_rates=...",
    ),
    (
        "element_of_an_unknown_entry",
        ["--config.train.learning_rate[0]=0.2"],
        "Did you mean 'train.learning_rates'?",
    ),
    (
        "infinite_rate",
        [f"{RATES_FLAG}(1e999,)"],
        "must be finite and >= 0. Received: (inf,)",
    ),
    (
        "alpha_that_is_infinite_in_float32",
        ["--config.model.activation.alpha=1e300"],
        "alpha must be a finite number > 0. Received: alpha=1e+300",
    ),
    (
        "two_configs",
        ["--config=mnist_mlp_8x128"],
        f"--config must be set once. Received: {SMOKE} and --config=mnist_mlp_8x128.",
    ),
    (
        "boundary_after_the_last_iteration",
        [f"{BOUNDARIES_FLAG}(300,)", f"{RATES_FLAG}(.1,.2)"],
        "the run's 20 iterations. Received: (300,). Fractions fit every",
    ),
    (
        "name_that_leaves_the_folder",
        ["--config.name=../../x"],
        f"{NAME_ERROR}, because it is part of the path runs/<name>/",
    ),
    ("empty_name", ["--config.name="], NAME_ERROR),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The flag that chooses a data set of 1,000 images of noise."""
    path = tmp_path_factory.mktemp("data") / "noise.npz"
    images = np.random.default_rng(0).integers(0, 256, (1000, 28, 28), np.uint8)
    np.savez(path, images=images, labels=np.arange(1000) % 10)
    return f"--config.data.name={path}"


@pytest.mark.parametrize(
    ("arguments", "words"), [pytest.param(*row[1:], id=row[0]) for row in CASES]
)
def test_training_with_wrong_flags_is_refused(refused, data, arguments, words):
    assert words in refused(2, "train", SMOKE, data, *arguments)


def test_training_of_a_network_larger_than_the_memory_is_refused(refused, data):
    error = refused(1, "train", SMOKE, data, "--config.model.width=1e9")
    assert "mnist_mlp_8x128 do not fit into memory" in error


MODEL, WEIGHTS = "--model=mnist_mlp_8x128", "--weights=mnist"
OTHER_DATA = "--config=elu_cifar_11", "--data=cifar10"
BINARIES = [
    ("train", [*OTHER_DATA, "--config.train.batch_size=0"], "batch_size must be >= 1"),
    ("train", [*OTHER_DATA, "--config.train.epochs=0"], "train.epochs must be >= 1"),
    ("serve", ["--max_body_bytes=3000000000"], "[1024, 2147483647]"),
    ("evaluate", [MODEL, WEIGHTS, "--data=mnist_5k", "--splt=test"], "mean '--split'?"),
    ("evaluate", ["--model=mnist_mlp", WEIGHTS, "--data=mnist_5k"], "'mnist_mlp_8x12"),
    ("predict", [MODEL, WEIGHTS, "--data=mnist_5k", "--top=0"], "not a positive"),
    ("export", [MODEL, WEIGHTS, "--export_dir=out", "--version=-1"], "not a positive"),
    ("export", [MODEL, WEIGHTS, "--exprt_dir=out"], "Did you mean '--export_dir'?"),
]


@pytest.mark.parametrize(("binary", "arguments", "words"), BINARIES)
def test_other_commands_with_wrong_flags_are_refused(refused, binary, arguments, words):
    assert words in refused(2, binary, *arguments)


WORKERS = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
TASK_OUTSIDE_CLUSTER = {"cluster": WORKERS, "task": {"type": "worker", "index": 2}}


def test_a_task_that_is_not_in_the_cluster_is_refused(refused, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps(TASK_OUTSIDE_CLUSTER))
    assert "its cluster has 2 task(s) of this type" in refused(2, "train", SMOKE)


def test_the_flag_debug_shows_the_traceback(here):
    result = run_here("train", SMOKE, "--config.train.epochs=0", "--debug")
    assert result.code == 2 and "Traceback" in result.err
    assert result.err.splitlines()[-1].startswith("error: ")
    assert not list(here.iterdir())
