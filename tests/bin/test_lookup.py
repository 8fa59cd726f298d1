"""Number of lookups of --weights in each command."""

import pytest

from elu_zoo.weights import local, pretrained

MODEL, DATA = "--model=mnist_mlp_8x128", "--data=mnist_5k"
FINETUNE = "--config=finetune:model=mnist_mlp_8x128,weights={},smoke=True"


@pytest.mark.parametrize(
    ("command", "arguments", "is_folder"),
    [
        ("evaluate", (MODEL, "--weights={}", DATA), False),
        ("predict", (MODEL, "--weights={}", DATA, "--count=1"), True),
        ("export", (MODEL, "--weights={}", "--export_dir=exports"), False),
        ("train", (FINETUNE, DATA, "--workdir=run"), True),
    ],
)
def test_a_command_looks_weights_up_once(cli, trained, monkeypatch, command, arguments, is_folder):
    weights = trained if is_folder else "mnist"
    looked_up = []

    def record(function):
        def call(name, *others):
            looked_up.append(name)
            return function(name, *others)

        return call

    for module, name in ((pretrained, "_from_manifest"), (local, "find")):
        monkeypatch.setattr(module, name, record(getattr(module, name)))
    result = cli(command, *(each.format(weights) for each in arguments))
    assert result.code == 0, result.err
    assert [str(name) for name in looked_up] == [str(weights)]
