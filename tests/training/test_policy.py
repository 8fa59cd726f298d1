import dataclasses

import pytest

from elu_zoo import errors
from elu_zoo.training import policy

SMALLEST = [None, 1, 100]


@pytest.mark.parametrize("num_devices", SMALLEST)
@pytest.mark.parametrize("strategy", ["auto", "one", "mirrored", "multi_worker"])
def test_devices(strategy, num_devices):
    assert policy.check_devices(strategy, num_devices) is None


@pytest.mark.parametrize("accumulate", [1, 8])
@pytest.mark.parametrize("steps_per_call", SMALLEST)
@pytest.mark.parametrize("compile_", ["auto", "on", "off"])
def test_compile(compile_, steps_per_call, accumulate):
    assert policy.check_compile(compile_, steps_per_call, accumulate) is None


@pytest.mark.parametrize(
    ("check", "arguments", "words"),
    [
        (
            *(policy.check_devices, ("miror", None)),
            "Unknown strategy 'miror'. Did you mean 'mirrored'.*"
            "Known: auto, one, mirrored, multi_worker",
        ),
        (policy.check_devices, ("", 1), "Unknown strategy ''"),
        (policy.check_devices, ("one", 0), "num_devices is >= 1. Received: 0"),
        (policy.check_devices, ("auto", -2), "num_devices is >= 1. Received: -2"),
        (
            *(policy.check_compile, ("yes", None, 1)),
            "Unknown value of compile 'yes'. Known: auto, on, off",
        ),
        (policy.check_compile, ("on", 0, 1), "steps_per_call is >= 1. Received: 0"),
        (policy.check_compile, ("auto", -1, 1), "steps_per_call is >= 1. .*: -1"),
        (policy.check_compile, ("auto", 1, 0), "accumulate is >= 1. Received: 0"),
        (policy.check_compile, ("off", None, -2), "accumulate is >= 1. Received: -2"),
    ],
)
def test_refusals(check, arguments, words):
    with pytest.raises(errors.UsageError, match=words) as caught:
        check(*arguments)
    assert caught.value.exit_code == 2


def test_a_policy_is_a_record():
    """A run's first row of timing.jsonl holds these fields."""
    made = policy.Policy(compiled=True, steps_per_call=7, accumulate=2)
    fields = {"compiled": True, "steps_per_call": 7, "accumulate": 2}
    assert dataclasses.asdict(made) == fields
    assert made == policy.Policy(True, 7, 2) != policy.Policy(True, 7)
