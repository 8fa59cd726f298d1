"""`arguments.parse` converts the text of config arguments to the types of defaults."""

import pytest

from elu_zoo import errors
from elu_zoo.configs import arguments

DEFAULTS = {"activation": "elu", "seed": 0, "batch_norm": False, "rate": 0.5}


@pytest.mark.parametrize(
    "text, changed",
    [
        ("", {}),
        ("activation=relu", {"activation": "relu"}),
        ("activation=", {"activation": ""}),
        ("seed=-1", {"seed": -1}),
        ("batch_norm=True", {"batch_norm": True}),
        ("batch_norm=true", {"batch_norm": True}),
        ("rate=1", {"rate": 1.0}),
        ("rate=1e-3", {"rate": 1e-3}),
        ("seed=1,seed=2", {"seed": 2}),
        ("seed=3,activation=relu,", {"seed": 3, "activation": "relu"}),
    ],
)
def test_parse_updates_the_defaults(text, changed):
    values = arguments.parse(text, **DEFAULTS)
    assert values == {**DEFAULTS, **changed}
    assert [type(v) for v in values.values()] == [type(v) for v in DEFAULTS.values()]


@pytest.mark.parametrize(
    "text, words",
    [
        ("epoch=1", "Unknown config argument 'epoch'.*Known: activation, seed"),
        ("epochs=1", "'epochs'. It is a field: set --config.train.epochs=1. Known: act"),
        ("train.learning_rates=(1,2)", r"--config.train.learning_rates=\.\.\.\. Known"),
        ("schedule=quick", "'schedule'. Did you mean 'seed'"),
        ("smoke", "key=value,key=value. Received: 'smoke'"),
        ("seed=abc", "seed must be of type int, such as 0. Received: 'abc'"),
        ("seed=1.5", "seed must be of type int.*'1.5'"),
        ("seed=True", "seed must be of type int.*'True'"),
        ("batch_norm=1", "batch_norm must be of type bool, such as False.*'1'"),
        ("rate=x", "rate must be of type float, such as 0.5.*'x'"),
    ],
)
def test_parse_raises_for_unknown_names_and_for_values_of_a_wrong_type(text, words):
    with pytest.raises(errors.UsageError, match=words):
        arguments.parse(text, **DEFAULTS)
