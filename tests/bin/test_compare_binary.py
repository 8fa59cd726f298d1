"""elu-zoo-compare: its arguments, errors before any run, and a small comparison."""

import json
import subprocess
import sys

import numpy as np
import pytest

from elu_zoo.activations import table
from elu_zoo.compare import comparison

MODULE = """
import keras
import elu_zoo

@elu_zoo.register_activation
def my_unit(x):
    return keras.ops.where(x > 0, x, keras.ops.tanh(x))
"""
NETWORK = """
import keras
import elu_zoo
from elu_zoo.layers import image_input
from elu_zoo.models.blocks import norm_act

@elu_zoo.register_model
def unseeded(
    activation="elu", *, batch_norm=False, num_classes=10, input_shape=(28, 28, 1),
    width=1.0, seed=0, preprocessing=None,
):
    image, x = image_input(input_shape, preprocessing)
    x = keras.layers.Dense(8)(keras.layers.Flatten()(x))
    x = norm_act(x, "dense", activation, batch_norm, seed)
    return keras.Model(image, keras.layers.Dense(num_classes, name="classifier")(x))
"""
QUICK = "--config=quickstart"


@pytest.fixture
def asked(monkeypatch):
    """The list of the configs of `comparison.compare`, which here does nothing."""
    received = []
    monkeypatch.setattr(comparison, "compare", lambda config, jobs, say: received.append(config))
    monkeypatch.setattr(table, "_table", dict(table._table))
    return received


@pytest.mark.parametrize(
    ("arguments", "seeds", "tune", "output", "epochs"),
    [
        ([], 5, 7, "runs/compare/quickstart", 30),
        (["--budget=short"], 5, 7, "runs/compare/quickstart-short", 6),
        (["--budget=smoke"], 2, 3, "runs/compare/quickstart-smoke", 2),
        (["--budget=smoke", "--config.train.epochs=9"], 2, 3,
         "runs/compare/quickstart-smoke", 9),
        (["--seeds=7", "--tune=1", "--output=out"], 7, 1, "out", 30),
        (["--data=mnist_5k"], 5, 7, "runs/compare/quickstart@mnist_5k", 30),
    ]
)  # fmt: skip
def test_arguments_are_passed_on(cli, asked, arguments, seeds, tune, output, epochs):
    result = cli("compare", QUICK, "--activations=elu,srelu", *arguments)
    assert result.code == 0, result.err
    (config,) = asked
    assert config.activations == ("elu", "shifted_relu")
    assert (config.seeds, config.tune) == (seeds, tune)
    assert (str(config.output), config.config.train.epochs) == (output, epochs)
    assert config.config.smoke == ("--budget=smoke" in arguments)
    assert config.command.split() == [
        *("elu-zoo-compare", QUICK, "--activations=elu,srelu"),
        *(argument for argument in arguments if "output" not in argument),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([QUICK], "Missing: --activations"),
        ([QUICK, "--activations=elu,ellu"], "Did you mean 'elu'"),
        ([f"{QUICK}:activation=rleu", "--activations=elu,relu"], "Did you mean 'relu'"),
        ([QUICK, "--activations=shifted_relu,srelu"], "names shifted_relu twice"),
        ([QUICK, "--activations=elu,softmax"], "does not act on each element"),
        ([QUICK, "--activations=elu"], "must be two or more names"),
        ([QUICK, "--activations=elu,relu", "--tune=0"], "must be an integer >= 1"),
        ([QUICK, "--activations=elu,relu", "--output=file/x"], "file is no folder"),
        ([QUICK, "--activations=elu,relu", "--module=no.py"], "There is no file no.py"),
        ([QUICK, "--activations=elu,relu", "--config.data.measure_test=False"],
         "on which this config (data.measure_test=False) also compares the runs"),
        ([QUICK, "--activations=elu,relu", "--config.model.activation.alpha=0.5"],
         "their own default parameters. Remove those"),
        (["--config=finetune", "--data=mnist_5k", "--activations=elu,relu"],
         "belong to one activation. Set config.model.weights to ''"),
        (["--config=elu_imagenet_15", "--activations=elu,relu"],
         "images of imagenet2012 are test images. Use --tune=1"),
    ]
)  # fmt: skip
def test_mistakes_are_refused_before_work(cli, asked, tmp_path, arguments, words):
    (tmp_path / "file").touch()
    result = cli("compare", *arguments)
    assert result.code == (1 if words == "file is no folder" else 2)
    assert words in result.error
    assert asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("change", "budget", "words"),
    [("del c.name", "full", "missing: name"), ("pass", "smoke", "the argument smoke")],
)
def test_an_unfit_config_is_refused(cli, asked, tmp_path, change, budget, words):
    text = "from elu_zoo.configs import quickstart as q\ndef get_config(arg):\n c = q.get_config()"
    (tmp_path / "own.py").write_text(f"{text}.unlock()\n {change}\n return c")
    found = cli("compare", "--config=own.py", "--activations=elu,relu", f"--budget={budget}")
    assert (found.code, asked) == (2, []) and words in found.error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "arguments", "words"),
    [
        (
            MODULE.replace(
                "keras.ops.where(",
                "keras.ops.custom_gradient(lambda *x: (x[1], lambda *g: 1 / 0))(",
            ),
            ["--activations=elu,my_unit"],
            "cannot be trained with the activation 'my_unit': ",
        ),
        (
            NETWORK,
            ["--activations=elu,relu", "--config.model.name=unseeded"],
            "The initial kernels with relu differ from those with elu",
        ),
    ],
)
def test_unfit_code_is_found_before_the_first_run(process, tmp_path, module, arguments, words):
    (tmp_path / "my_zoo.py").write_text(module)
    flags = "--module=my_zoo.py", "--budget=smoke", "--output=out"
    result = process("compare", QUICK, *arguments, *flags)
    assert result.code == 2 and words in result.error
    assert not list((tmp_path / "out" / "runs").rglob("*-s*"))


@pytest.mark.slow
@pytest.mark.nightly
def test_a_users_activation_is_compared_and_not_trained_twice(tmp_path):
    (tmp_path / "my_zoo.py").write_text(MODULE)
    command = [
        *(sys.executable, "-m", "elu_zoo.bin.compare", QUICK, "--module=my_zoo.py"),
        *("--activations=elu,my_unit", "--budget=smoke", "--seeds=1", "--output=out"),
    ]

    def printed():
        options = {"cwd": tmp_path, "check": True, "capture_output": True}
        return subprocess.run(command, text=True, **options).stdout

    first = printed()
    assert "2 activations, each with at most 7 runs for tuning" in first
    assert "1 of 2: " in first
    for path in (paths := list(tmp_path.rglob("compared_errors.npy"))):
        metrics = json.loads((path.parent / "outcome.json").read_text())["metrics"]
        assert np.load(path).mean() == pytest.approx(metrics["test_error_percent"])
    assert len(paths) >= 2
    report = (tmp_path / "out" / "report.md").read_text()
    assert ": nothing is decided by fewer than 5 pairs." in report
    times = json.loads((tmp_path / "out" / "step_times.json").read_text())["costs"]
    assert times[0]["ratio"] == 1 and times[1]["run"] > 0
    folders = sorted((tmp_path / "out" / "runs").glob("*/*"))
    second = printed()
    assert "To train: 0 runs" in second and "1 of 2" not in second
    assert (tmp_path / "out" / "report.md").read_text() == report
    assert sorted((tmp_path / "out" / "runs").glob("*/*")) == folders
