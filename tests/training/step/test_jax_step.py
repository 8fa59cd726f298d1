"""Training on JAX, without TensorFlow, compared with training on TensorFlow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax_runs
import no_tensorflow
import numpy as np
import pytest

from elu_zoo import registry, training, zoo
from elu_zoo.bin import train
from elu_zoo.data import load
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.evaluation.loss import Objective

pytestmark = pytest.mark.slow
CONFIGS = [name for name, (config, *_) in jax_runs.RUNS.items() if name == config]


@pytest.fixture(autouse=True)
def registered(phased):
    """Registers `small_stacks`, the network of the runs `phases` and `muon`."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder that `jax_runs.py` fills."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("jax")
    done = subprocess.run(
        [sys.executable, no_tensorflow.__file__, Path(jax_runs.__file__), folder],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", [*CONFIGS, "batch_norm", "phases", "muon"])
def test_a_run_equals_that_on_tensorflow_up_to_rounding(name, folder, tmp_path, rows, last_arrays):
    config = jax_runs.get_config(name)
    training.train(config, tmp_path, compile="off")
    actual, expected = (rows(x / "metrics.jsonl") for x in (folder / name, tmp_path))
    assert actual[0]["step"] <= 10 and actual[0].keys() == expected[0].keys()
    for key, value in expected[0].items():
        assert actual[0][key] == pytest.approx(value, rel=1e-5), key
    if len(expected) == 1:  # the newest checkpoint is at the end of the first epoch
        arrays = last_arrays(folder / name), last_arrays(tmp_path)
        for a, b in zip(*arrays, strict=True):
            np.testing.assert_allclose(a, b, 0, 1e-5)


@pytest.mark.parametrize("name", ["mnist_autoencoder", "batch_norm", "phases", "finetune"])
def test_weights_trained_on_jax_have_the_same_metrics_on_tensorflow(name, folder):
    config, model_name = jax_runs.get_config(name), jax_runs.get_config(name).model.name
    entry = json.loads((folder / name / "outcome.json").read_text())
    assert entry["backend"] == "jax" and entry["versions"]["jax"]
    model = zoo.get_model(model_name, weights=folder / name)
    preprocessing = registry.entry(model_name).preprocessing
    evaluator = Evaluator(model, Objective(config.train.loss, preprocessing))
    for key, value in evaluator(load.load("mnist_5k").test).items():
        assert entry["metrics"][f"test_{key}"] == pytest.approx(value, rel=1e-5), key


def test_a_resumed_run_equals_an_uninterrupted_run_bit_for_bit(
    folder, rows, last_arrays, assert_same_bits
):
    assert "after iteration 8 of 20" in (folder / "stopped.txt").read_text()
    starts = [r["step"] for r in rows(folder / "resumed/timing.jsonl") if "commit" in r]
    assert starts == [0, 8]
    assert_same_bits(last_arrays(folder / "resumed"), last_arrays(folder / "unstopped"))
    contents = [(folder / n / "metrics.jsonl").read_bytes() for n in ("resumed", "unstopped")]
    assert contents[0] == contents[1]
    static, usual = (last_arrays(folder / name) for name in ("static", "unstopped"))
    for a, b in zip(static, usual, strict=True):
        np.testing.assert_allclose(a, b, 0, 1e-6)


@pytest.mark.data
def test_arguments_that_jax_does_not_support_are_refused(folder):
    messages = json.loads((folder / "errors.json").read_text())
    for name, (_, words) in jax_runs.REFUSED.items():
        assert words in messages[name]


def test_the_binary_needs_no_tensorflow(tmp_path):
    pytest.importorskip("jax")
    flags = f"--workdir={tmp_path}", "--data=mnist_5k"
    subprocess.run(
        [
            *(sys.executable, no_tensorflow.__file__, train.__file__, *flags),
            "--config=mnist_mlp_5x256:smoke=True",
        ],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        check=True,
    )
    assert json.loads((tmp_path / "outcome.json").read_text())["backend"] == "jax"
