"""Lookups of --weights: one in every command."""

import pytest

from elu_zoo.weights import pretrained

MODEL, DATA = "--model=mnist_mlp_8x128", "--data=mnist_5k"
FINETUNE = "--config=finetune:model=mnist_mlp_8x128,weights={},smoke=True"


@pytest.mark.parametrize("kind", ["a data set's name", "a run's folder"])
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("evaluate", (MODEL, "--weights={}", DATA)),
        ("predict", (MODEL, "--weights={}", DATA, "--count=1")),
        ("export", (MODEL, "--weights={}", "--export_dir=exports")),
        ("train", (FINETUNE, DATA, "--workdir=run")),
    ],
)
def test_a_command_looks_weights_up_once(
    cli, trained, monkeypatch, command, arguments, kind
):
    weights = "mnist" if kind == "a data set's name" else trained
    looked_up = []

    def recorded(function):
        def call(name, *others):
            looked_up.append(name)
            return function(name, *others)

        return call

    for name in ("_from_manifest", "_from_path"):
        monkeypatch.setattr(pretrained, name, recorded(getattr(pretrained, name)))
    result = cli(command, *(each.format(weights) for each in arguments))
    assert result.code == 0, result.err
    assert looked_up == [weights]
