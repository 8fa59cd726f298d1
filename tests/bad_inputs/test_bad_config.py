"""Invalid flags and configs: the error of a command, before it writes anything."""

import json

import numpy as np
import pytest
from binaries import run_here

SMOKE = "--config=quickstart:smoke=True"
RATES = "--config.train.learning_rates="
BOUNDARIES = "--config.train.boundaries="
NAME = 'The config entry name must be a relative path without ".."'
CASES = [
    (
        "misspelt_flag",
        ["--wrkdir=x"],
        "Unknown flag --wrkdir. Did you mean '--workdir'",
    ),
    ("misspelt_group", ["--config.trian.epochs=2"], "Did you mean 'train.epochs'?"),
    (
        "misspelt_entry_of_an_activation",
        ["--config.model.activation.alhpa=1"],
        "Did you mean 'model.activation.alpha'?",
    ),
    ("entry_without_a_name", ["--config.=3"], "Unknown config entry ''"),
    (
        "item_of_a_tuple",
        ["--config.train.learning_rates[0]=0.2"],
        "Set the whole entry. Its value is now '--config.train.learning_rates=(0.05,)'",
    ),
    (
        "item_of_an_unknown_entry",
        ["--config.train.learning_rate[0]=0.2"],
        "Did you mean 'train.learning_rates'?",
    ),
    ("word_for_a_number", ["--config.train.batch_size=abc"], "batch_size=abc: inval"),
    (
        "no_batch",
        ["--config.train.batch_size=0"],
        "batch_size must be >= 1. Received: 0.",
    ),
    (
        "no_epochs",
        ["--config.train.epochs=0"],
        "train.epochs must be >= 1. Received: 0.",
    ),
    ("negative_steps", ["--steps_per_call=-1"], "-1 is not a positive integer"),
    (
        "infinite_rate",
        [f"{RATES}(1e999,)"],
        "must be finite and >= 0. Received: (inf,)",
    ),
    (
        "alpha_that_float32_does_not_hold",
        ["--config.model.activation.alpha=1e300"],
        "alpha must be a finite number > 0. Received: alpha=1e+300",
    ),
    (
        "batch_that_parts_cannot_share",
        ["--accumulate=5", "--config.train.batch_size=64"],
        "of 5, because of --accumulate=5. Received: 64. Set it to 60 or 65.",
    ),
    (
        "one_device_and_two",
        ["--strategy=one", "--num_devices=2"],
        "Strategy one uses one device, but num_devices is 2. Set --strategy=mirrored.",
    ),
    (
        "two_configs",
        ["--config=mnist_mlp_8x128"],
        f"--config must be set once. Received: {SMOKE} and --config=mnist_mlp_8x128.",
    ),
    (
        "boundaries_that_decrease",
        [f"{BOUNDARIES}(9,5)", f"{RATES}(.1,.2,.3)"],
        "must increase, between 0 and the run's 20 iterations. Received: (9, 5)",
    ),
    (
        "boundary_past_the_end",
        [f"{BOUNDARIES}(300,)", f"{RATES}(.1,.2)"],
        "the run's 20 iterations. Received: (300,). Fractions fit every",
    ),
    (
        "fewer_rates_than_boundaries",
        [f"{BOUNDARIES}(5,)"],
        "must have one entry more than train.boundaries. Received: 1",
    ),
    (
        "name_that_leaves_the_folder",
        ["--config.name=../../x"],
        f"{NAME}, because it is part of the path runs/<name>/",
    ),
    ("name_of_nothing", ["--config.name="], NAME),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The flag that names a small data set."""
    path = tmp_path_factory.mktemp("data") / "noise.npz"
    images = np.random.default_rng(0).integers(0, 256, (1000, 28, 28), np.uint8)
    np.savez(path, images=images, labels=np.arange(1000) % 10)
    return f"--config.data.name={path}"


@pytest.mark.parametrize(
    ("arguments", "words"), [pytest.param(*row[1:], id=row[0]) for row in CASES]
)
def test_train(refused, data, arguments, words):
    assert words in refused(2, "train", SMOKE, data, *arguments)


def test_a_network_larger_than_the_memory(refused, data):
    error = refused(1, "train", SMOKE, data, "--config.model.width=1e9")
    assert "mnist_mlp_8x128 do not fit the memory" in error


MODEL, WEIGHTS = "--model=mnist_mlp_8x128", "--weights=mnist"
BINARIES = [
    ("evaluate", [MODEL, WEIGHTS, "--data=mnist_5k", "--splt=test"], "mean '--split'?"),
    ("evaluate", ["--model=mnist_mlp", WEIGHTS, "--data=mnist_5k"], "'mnist_mlp_8x12"),
    ("predict", [MODEL, WEIGHTS, "--data=mnist_5k", "--top=0"], "not a positive"),
    ("export", [MODEL, WEIGHTS, "--export_dir=out", "--version=-1"], "not a positive"),
    ("export", [MODEL, WEIGHTS, "--exprt_dir=out"], "Did you mean '--export_dir'?"),
]


@pytest.mark.parametrize(("binary", "arguments", "words"), BINARIES)
def test_other_commands(refused, binary, arguments, words):
    assert words in refused(2, binary, *arguments)


WORKERS = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
OUTSIDE = {"cluster": WORKERS, "task": {"type": "worker", "index": 2}}


@pytest.mark.parametrize("strategy", ["auto", "multi_worker"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "TF_CONFIG must be JSON"),
        (json.dumps(OUTSIDE), "but its cluster has 2 task(s) of this type"),
    ],
)
def test_tf_config(refused, monkeypatch, strategy, text, words):
    monkeypatch.setenv("TF_CONFIG", text)
    assert words in refused(2, "train", SMOKE, f"--strategy={strategy}")


def test_debug_shows_the_traceback(here):
    shown = run_here("train", SMOKE, "--config.train.epochs=0", "--debug")
    assert shown.code == 2 and "Traceback" in shown.err
    assert shown.err.splitlines()[-1].startswith("error: ")
    assert not list(here.iterdir())
