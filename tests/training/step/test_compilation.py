"""Flags for devices and compilation, and the rules that choose a compilation."""

import keras
import pytest

from elu_zoo import errors
from elu_zoo.training import backends
from elu_zoo.training.step import compilation


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("miror", None), "Did you mean 'mirrored'"), (("one", 0), "num_devices")],
)
def test_invalid_devices_are_refused(arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        backends.choose_devices(False, *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("yes", None), "compile"), (("on", 0), "steps_per_call"), (("auto", 1, 0), "accumulate")],
)
def test_invalid_flags_are_refused(arguments, words):
    with pytest.raises(errors.UsageError, match=words):
        compilation.choose(keras.Sequential(), 1, *arguments)


def test_every_rule_is_used():
    facts = [
        {platform, kind, *others}
        for platform in ("cpu", "gpu")
        for kind in ("convolutional", "dense")
        for others in ((), ("several",), ("several", "updates"))
    ]
    chosen = {compilation.fitting_rule(f, how) for f in facts for how in ("auto", "off")}
    chosen |= {compilation.fitting_rule(f, "on") for f in facts if "updates" not in f}
    assert chosen == set(compilation.RULES)


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (keras.layers.Dense(2), (4,), "dense"),
        (keras.layers.SeparableConv2D(2, 3), (4, 4, 1), "convolutional"),
        (keras.Sequential([keras.layers.Conv2D(2, 1)]), (4, 4, 1), "convolutional"),
    ],
)
def test_kind_distinguishes_convolutional_and_dense_networks(layer, shape, expected):
    assert compilation.kind(keras.Sequential([keras.Input(shape), layer])) == expected
