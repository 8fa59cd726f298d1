"""Runs on JAX, for test_jax_step.py.

The command `KERAS_BACKEND=jax python ../no_tensorflow.py jax_runs.py FOLDER` trains
each config of RUNS in FOLDER/<name>. It also writes the error message for each set of
arguments in REFUSED to FOLDER/errors.json.
"""

import dataclasses
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import small_stacks

from elu_zoo.training.step import compilation

# Two epochs of ten iterations on 640 digits. Checkpoints are saved in the middle and
# at the end of each epoch.
DIGITS = {
    "data.name": "mnist_5k",
    "data.train_examples": 640,
    "train.epochs": 2,
    "train.checkpoint_every": 5,
}
MOMENTUM = {**DIGITS, "train.momentum": 0.9}
# name: (config file, argument of its get_config, changed fields)
RUNS = {
    "mnist_mlp_8x128": ("mnist_mlp_8x128", "", DIGITS),
    "mnist_autoencoder": ("mnist_autoencoder", "smoke=True", DIGITS),
    "batch_norm": ("mnist_mlp_8x128", "smoke=True,batch_norm=True", MOMENTUM),
    "unstopped": ("mnist_mlp_8x128", "smoke=True,activation=rrelu", MOMENTUM),
    "resumed": ("mnist_mlp_8x128", "smoke=True,activation=rrelu", MOMENTUM),
    "static": ("mnist_mlp_8x128", "smoke=True,activation=rrelu", MOMENTUM),
    "finetune": (*("finetune", "model=mnist_mlp_8x128,weights=mnist,freeze=dense1+dense2"), DIGITS),
    "phases": (
        *("elu_cifar_11", "dataset=mnist_5k,smoke=True"),
        {
            **small_stacks.PHASES,
            "train.epochs": 1,
            "train.nesterov": True,
            "train.phase_boundaries": (5,),
            "train.dropout": small_stacks.PHASES["train.dropout"][:2],
            "train.dropout_placement": ("last", "all"),
        },
    ),
    "muon": (
        *("elu_cifar_11", "dataset=mnist_5k,smoke=True"),
        {**small_stacks.PHASES, **small_stacks.MUON, "train.epochs": 2},
    ),
}
TWO_WORKERS = json.dumps(
    {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
)
# name: arguments that `train` refuses on JAX, and words of the error. `main` changes the
# config or TF_CONFIG of the names "machines", "images" and "data".
REFUSED = {
    "strategy": ({"strategy": "mirrored"}, "strategy 'mirrored'"),
    "devices": ({"num_devices": 2}, "num_devices 2"),
    "compile": ({"compile": "off"}, "compile 'off'"),
    "machines": ({}, "with 2 tasks"),
    "accumulate": ({"accumulate": 2}, "accumulate 2"),
    "images": ({}, "images that stay on the disk"),
    "data": ({"data_dir": os.environ.get("TFDS_DATA_DIR") or None}, "Load the data set once"),
}


def get_config(name):
    """Returns the config of a run."""
    module, argument, entries = RUNS[name]
    config = import_module(f"elu_zoo.configs.{module}").get_config(argument)
    config.update_from_flattened_dict(entries)
    return config


def watch(stop_after):
    """Checks each call of the step, and sends SIGTERM after `stop_after` iterations.

    Returns a list with the number of iterations so far. Set it to 0 before a run that is to
    be stopped, and to a large number before any other run.
    """
    from elu_zoo.training.step.jax_step import JaxStep

    run, done = JaxStep.run, [0]

    def watched(self, batches, *arguments):
        losses = run(self, batches, *arguments)
        # Compiled once, or once for full calls and once for the rest.
        sizes = self._call._cache_size(), self._full_call._cache_size()
        assert max(sizes) <= 1 + self._compilation.static, sizes
        if not done[0]:
            rates, first, _ = arguments
            inputs = self._state, self._data, first, 1, batches, rates
            traced = self._call.trace(*inputs).jaxpr
            # Products are computed in float32, not in TF32 or bfloat16.
            assert "HIGHEST" in str(traced)
        done[0] += len(batches)
        if done[0] - len(batches) < stop_after <= done[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return losses

    JaxStep.run = watched
    return done


def main(folder):
    from elu_zoo import errors, training
    from elu_zoo.configs import elu_imagenet_15

    small_stacks.register()
    done = watch(stop_after=7)
    for name in RUNS:
        done[0] = 0 if name == "resumed" else 10**9
        arguments = {"steps_per_call": 3} if name in ("resumed", "static") else {}
        if name == "static":  # as on GPUs: a program for full calls, one for the rest
            rule = dataclasses.replace(compilation.fitting_rule({"cpu"}, "on"), static=True)
            mock.patch.object(compilation, "fitting_rule", lambda *_, r=rule: r).start()
        if name == "resumed":
            try:
                training.train(get_config(name), folder / name, **arguments)
            except errors.Interrupted as error:
                (folder / "stopped.txt").write_text(str(error))
        training.train(get_config(name), folder / name, **arguments)
        mock.patch.stopall()
    messages = {}
    for name, (arguments, _) in REFUSED.items():
        config = get_config("unstopped")
        config.data.name = "mnist" if name == "data" else "mnist_5k"
        if name == "images":
            config = elu_imagenet_15.get_config("smoke=True")
        os.environ["TF_CONFIG"] = TWO_WORKERS if name == "machines" else ""
        os.environ["ELU_ZOO_HOME"] = str(folder / "home")  # a cache without images
        try:
            training.train(config, folder / "refused", **arguments)
        except errors.EluZooError as error:
            messages[name] = f"{type(error).__name__}: {error}"
    assert not (folder / "refused").exists()
    (folder / "errors.json").write_text(json.dumps(messages))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
