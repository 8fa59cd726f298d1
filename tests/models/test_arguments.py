"""What every builder refuses, and what it takes."""

import math

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.models.arguments import (
    check_builder_arguments,
    check_choice,
    check_image_shape,
    check_number,
    scaled_units,
)

GOOD = {
    "batch_norm": False,
    "num_classes": 10,
    "input_shape": (28, 28, 1),
    "width": 1.0,
    "seed": 0,
}

REFUSED = [
    ("batch_norm", "no", "batch_norm is True or False. Received: 'no'"),
    ("batch_norm", 1, "Received: 1"),
    ("num_classes", 0, "num_classes is an integer >= 1. Received: 0"),
    ("num_classes", -1, "integer >= 1. Received: -1"),
    ("num_classes", 1.5, "Received: 1.5"),
    ("num_classes", True, "Received: True"),
    ("num_classes", "10", "Received: '10'"),
    ("num_classes", None, "Received: None"),
    ("seed", -1, "seed is an integer >= 0. Received: -1"),
    ("seed", 1.0, "Received: 1.0"),
    ("seed", False, "Received: False"),
    ("width", 0, "finite number > 0. Received: 0"),
    ("width", -0.5, "Received: -0.5"),
    ("width", math.nan, "Received: nan"),
    ("width", math.inf, "Received: inf"),
    ("width", True, "Received: True"),
    ("width", "1", "Received: '1'"),
    ("input_shape", 28, r"\(height, width, channels\).*Received: 28"),
    ("input_shape", None, "Received: None"),
    ("input_shape", (28, 28), r"Received: \(28, 28\)"),
    ("input_shape", (1, 28, 28, 1), "height, width, channels"),
    ("input_shape", (28, 28, 0), "Each entry of input_shape is an integer >= 1"),
    ("input_shape", (28, None, 1), "Received: None"),
    ("input_shape", (28, 28.0, 1), "Received: 28.0"),
    ("input_shape", "abc", "Received: 'a'"),
    ("input_shape", (3, 32, 32), r"channels first.*\(32, 32, 3\)"),
    ("input_shape", (1, 28, 28), r"channels first.*\(28, 28, 1\)"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_refused(name, value, message):
    with pytest.raises(errors.UsageError, match=message):
        check_builder_arguments(**{**GOOD, name: value})


@pytest.mark.parametrize(
    "shape", [(28, 28, 1), [28, 28, 1], (1, 1, 1), (3, 32, 3), (1, 28, 4), (32, 3, 64)]
)
def test_taken(shape):
    assert check_builder_arguments(**{**GOOD, "input_shape": shape}) == tuple(shape)
    assert check_image_shape(shape) == tuple(shape)


def test_without_classes():
    arguments = {key: value for key, value in GOOD.items() if key != "num_classes"}
    assert check_builder_arguments(**arguments) == (28, 28, 1)


@pytest.mark.parametrize(
    ("units", "width", "expected"),
    [(128, 1.0, 128), (128, 0.5, 64), (128, 2, 256), (3, 0.01, 1), (10, 0.26, 3)],
)
def test_scaled_units(units, width, expected):
    assert scaled_units(units, width) == expected


@pytest.mark.parametrize(
    "value", [0, -0.1, math.nan, math.inf, -math.inf, True, "1", None, [1]]
)
def test_refused_number(value):
    with pytest.raises(errors.UsageError, match=r"^rate is > 0\. Received: ") as raised:
        check_number("rate", value, "is > 0", lambda number: number > 0)
    assert str(raised.value).endswith(f"{value!r}.")


@pytest.mark.parametrize("value", [1, 0.5, np.float64(2)])
def test_taken_number(value):
    check_number("rate", value, "is > 0", lambda number: number > 0)


@pytest.mark.parametrize("value", ["caff", None, 1, ["caffe"]])
def test_refused_choice(value):
    with pytest.raises(errors.UsageError, match="Unknown padding .*: caffe, same"):
        check_choice("padding", value, {"caffe": 1, "same": 2})


def test_choice():
    check_choice("padding", "same", ("caffe", "same"))
    with pytest.raises(errors.UsageError, match="'caff'. Did you mean 'caffe'"):
        check_choice("padding", "caff", ("caffe", "same"))
