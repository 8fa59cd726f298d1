import dataclasses

import keras
import pytest

from elu_zoo import errors
from elu_zoo.training import compilation
from elu_zoo.training.compilation import Compilation, check_compile, check_devices

SMALLEST = [None, 1, 100]


@pytest.mark.parametrize("num_devices", SMALLEST)
@pytest.mark.parametrize("strategy", ["auto", "one", "mirrored", "multi_worker"])
def test_devices(strategy, num_devices):
    assert check_devices(strategy, num_devices) is None


@pytest.mark.parametrize("accumulate", [1, 8])
@pytest.mark.parametrize("steps_per_call", SMALLEST)
@pytest.mark.parametrize("compile_", ["auto", "on", "off"])
def test_compile(compile_, steps_per_call, accumulate):
    assert check_compile(compile_, steps_per_call, accumulate) is None


@pytest.mark.parametrize(
    ("check", "arguments", "words"),
    [
        (
            *(check_devices, ("miror", None)),
            "Unknown strategy 'miror'. Did you mean 'mirrored'.*"
            "Known: auto, one, mirrored, multi_worker",
        ),
        (check_devices, ("", 1), "Unknown strategy ''"),
        (check_devices, ("one", 0), "num_devices is >= 1. Received: 0"),
        (check_devices, ("auto", -2), "num_devices is >= 1. Received: -2"),
        (
            *(check_compile, ("yes", None, 1)),
            "Unknown value of compile 'yes'. Known: auto, on, off",
        ),
        (check_compile, ("on", 0, 1), "steps_per_call is >= 1. Received: 0"),
        (check_compile, ("auto", -1, 1), "steps_per_call is >= 1. .*: -1"),
        (check_compile, ("auto", 1, 0), "accumulate is >= 1. Received: 0"),
        (check_compile, ("off", None, -2), "accumulate is >= 1. Received: -2"),
    ],
)
def test_refusals(check, arguments, words):
    with pytest.raises(errors.UsageError, match=words) as caught:
        check(*arguments)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("facts", "compile_", "expected"),
    [
        ({"cpu", "dense"}, "auto", (True, 100)),
        ({"cpu", "dense"}, "off", (False, 10)),
        ({"cpu", "convolutional"}, "auto", (False, 10)),
        ({"cpu", "convolutional"}, "on", (True, 1)),
        ({"gpu", "convolutional"}, "auto", (True, 100)),
        ({"gpu", "convolutional"}, "off", (False, 10)),
        ({"gpu", "dense", "several", "updates"}, "auto", (False, 10)),
        ({"cpu", "dense", "updates"}, "auto", (True, 100)),
        ({"cpu", "dense", "several"}, "auto", (True, 100)),
    ],
)
def test_table(facts, compile_, expected):
    rule = compilation.choose(facts, compile_)
    assert (rule.compiled, rule.steps_per_call) == expected


def test_every_row_is_taken_somewhere_and_has_a_reason():
    facts = [
        {platform, kind, *others}
        for platform in ("cpu", "gpu")
        for kind in ("convolutional", "dense")
        for others in ((), ("several",), ("several", "updates"))
    ]
    taken = {compilation.choose(f, how) for f in facts for how in ("auto", "off")}
    taken |= {compilation.choose(f, "on") for f in facts if "updates" not in f}
    assert taken == set(compilation.RULES)
    assert all(len(rule.reason) > 20 for rule in compilation.RULES)
    assert all(len(reason) > 20 for _, reason in compilation.CROSS_DEVICE_OPS.values())


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (keras.layers.Dense(2), (4,), "dense"),
        (keras.layers.Conv2D(2, 1), (4, 4, 1), "convolutional"),
    ],
)
def test_kind(layer, shape, expected):
    assert compilation.kind(keras.Sequential([keras.Input(shape), layer])) == expected


def test_a_compilation_is_a_record():
    """A run's first row of timing.jsonl holds these fields."""
    made = Compilation(compiled=True, steps_per_call=7, accumulate=2)
    fields = {"compiled": True, "steps_per_call": 7, "accumulate": 2}
    assert dataclasses.asdict(made) == fields
    assert made == Compilation(True, 7, 2) != Compilation(True, 7)
