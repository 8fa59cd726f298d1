import dataclasses

import pytest

from elu_zoo import errors
from elu_zoo.training import policy

SMALLEST = [None, 1, 100]


@pytest.mark.parametrize("num_devices", SMALLEST)
@pytest.mark.parametrize("strategy", ["auto", "one", "mirrored", "multi_worker"])
def test_devices(strategy, num_devices):
    assert policy.check_devices(strategy, num_devices) is None


@pytest.mark.parametrize("steps_per_call", SMALLEST)
@pytest.mark.parametrize("compile_", ["auto", "on", "off"])
def test_compile(compile_, steps_per_call):
    assert policy.check_compile(compile_, steps_per_call) is None


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
            *(policy.check_compile, ("yes", None)),
            "Unknown value of compile 'yes'. Known: auto, on, off",
        ),
        (policy.check_compile, ("on", 0), "steps_per_call is >= 1. Received: 0"),
        (policy.check_compile, ("auto", -1), "steps_per_call is >= 1. Received: -1"),
    ],
)
def test_refusals(check, arguments, words):
    with pytest.raises(errors.UsageError, match=words) as caught:
        check(*arguments)
    assert caught.value.exit_code == 2


def test_a_policy_is_a_record():
    """A run's first row of timing.jsonl holds these fields."""
    made = policy.Policy(compiled=True, steps_per_call=7)
    assert dataclasses.asdict(made) == {"compiled": True, "steps_per_call": 7}
    assert made == policy.Policy(True, 7) != policy.Policy(False, 7)
