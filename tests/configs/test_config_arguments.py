import pytest

from elu_zoo import errors
from elu_zoo.configs import arguments

DEFAULTS = {"activation": "elu", "seed": 0, "batch_norm": False, "rate": 0.5}


@pytest.mark.parametrize(
    "text, changed",
    [
        ("", {}),
        (",", {}),
        ("activation=relu", {"activation": "relu"}),
        ("activation=3", {"activation": "3"}),
        ("activation=", {"activation": ""}),
        ("seed=7", {"seed": 7}),
        ("seed=-1", {"seed": -1}),
        ("batch_norm=True", {"batch_norm": True}),
        ("batch_norm=true", {"batch_norm": True}),
        ("batch_norm=False", {}),
        ("rate=1", {"rate": 1.0}),
        ("rate=1e-3", {"rate": 1e-3}),
        ("seed=1,seed=2", {"seed": 2}),
        ("seed=3,activation=relu,", {"seed": 3, "activation": "relu"}),
    ],
)
def test_parse(text, changed):
    values = arguments.parse(text, **DEFAULTS)
    assert values == {**DEFAULTS, **changed}
    assert [type(v) for v in values.values()] == [type(v) for v in DEFAULTS.values()]


@pytest.mark.parametrize(
    "text, words",
    [
        ("sed=1", "Unknown config argument 'sed'. Did you mean 'seed'"),
        ("epochs=1", "Unknown config argument 'epochs'.*Known: activation, seed"),
        ("smoke", "key=value,key=value. Received: 'smoke'"),
        ("seed=abc", "seed is of type int, for instance 0. Received: 'abc'"),
        ("seed=1.5", "seed is of type int.*'1.5'"),
        ("seed=True", "seed is of type int.*'True'"),
        ("seed=", "seed is of type int.*''"),
        ("batch_norm=1", "batch_norm is of type bool, for instance False.*'1'"),
        ("batch_norm=yes", "batch_norm is of type bool.*'yes'"),
        ("rate=x", "rate is of type float, for instance 0.5.*'x'"),
        ("rate=True", "rate is of type float.*'True'"),
    ],
)
def test_refusals(text, words):
    with pytest.raises(errors.UsageError, match=words):
        arguments.parse(text, **DEFAULTS)


def test_defaults_stay():
    defaults = dict(DEFAULTS)
    arguments.parse("seed=5,activation=relu", **defaults)
    assert defaults == DEFAULTS
