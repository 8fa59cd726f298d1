"""Wrong arguments of the networks of table 1 raise errors."""

import math

import pytest

import elu_zoo
from elu_zoo import errors

RATE = "dropout rate must be .* Received: "
RATES = r"dropout must have {} rates in \[0, 1\).* Received: "
DEVIATIONS = "deviations must have 3 finite numbers > 0. Received: "
NO_DECAY = "_decay must be finite and >= 0. Received: "


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("alexnet_cifar", {"classifier_decay": math.inf}, f"classifier{NO_DECAY}inf"),
        ("nin", {"dropout": 1}, f"{RATE}1"),
        ("nin", {"deviations": (0.05, 0.05)}, DEVIATIONS),
        ("nin", {"deviations": (0.05, 0.05, 0)}, DEVIATIONS),
        *(
            (name, {"init_scale": 0}, "init_scale must be finite and > 0. Received: 0")
            for name in ("alexnet_cifar", "nin", "dsn", "maxout")
        ),
        ("nin", {"input_shape": (32, 3, 3)}, "32 x 3 pixels are too small for nin"),
        ("dsn", {"dropout": -0.1}, f"{RATE}-0.1"),
        ("dsn", {"auxiliary_heads": 1}, "auxiliary_heads must be True or False. .* 1"),
        (
            *("dsn", {"auxiliary_heads": True, "input_shape": (None, 32, 3)}),
            "heads fit images of one size",
        ),
        ("maxout", {"dropout": (0.5,) * 4}, RATES.format(5)),
        ("maxout", {"constrained": "no"}, "constrained must be True or False.*'no'"),
        ("maxout", {"activation": {"name": "maxout", "pieces": 3}}, "no arguments"),
        ("maxout", {"activation": {"name": "maxuot"}}, "maxuot'. Did you mean 'max"),
        ("allcnn_c", {"dropout": (0.5, 0.5)}, RATES.format(3)),
        ("allcnn_c", {"dropout": None, "kernel_decay": -1}, f"kernel{NO_DECAY}-1"),
        ("highway_19", {"dropout": (0.2,)}, f"{RATE}.0.2"),
        (
            *("highway_19", {"classifier_deviation": 0}),
            "classifier_deviation must be finite and > 0. Received: 0",
        ),
        (
            *("highway_19", {"first_deviation": "1"}),
            "first_deviation must be finite and > 0. Received: '1'",
        ),
        ("highway_19", {"classifier_decay": -1}, f"classifier{NO_DECAY}-1"),
        ("fmp", {"dropout": 1.0}, f"{RATE}1.0"),
        ("fmp", {"filters": 0}, "filters must be an integer >= 1. Received: 0"),
        ("fmp", {"regions": "rand"}, "Unknown regions 'rand'. Did you mean 'random'"),
        ("fmp", {"input_shape": (None, None, 3)}, r"of one size. .*\(None, None, 3\)"),
        ("fmp", {"input_shape": (32, 95, 3)}, r"at most 94 x 94.*\(32, 95, 3\)"),
    ],
)
def test_wrong_arguments_raise_a_usage_error(name, changes, message):
    with pytest.raises(errors.UsageError, match=message):
        elu_zoo.get_model(name, **changes, preprocessing=False)
