"""Error classes, and checks of arguments."""

import inspect
import math

import numpy as np
import pytest

from elu_zoo import errors

# Exit code and built-in base class of each error.
ERRORS = {
    "EluZooError": (1, Exception),
    "UsageError": (2, ValueError),
    "UsageTypeError": (2, TypeError),
    "NotFoundError": (2, FileNotFoundError),
    "DataError": (1, Exception),
    "CorruptError": (1, Exception),
    "ResourceError": (1, Exception),
    "TrainingError": (1, Exception),
    "Interrupted": (143, Exception),
}


def test_errors_have_their_base_class_and_exit_code():
    classes = inspect.getmembers(errors, inspect.isclass)
    assert {name for name, c in classes if c.__module__ == errors.__name__} == set(ERRORS)
    for name, (exit_code, builtin) in ERRORS.items():
        error = getattr(errors, name)
        assert error.exit_code == exit_code
        assert issubclass(error, builtin) and issubclass(error, errors.EluZooError)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("eluu", ["relu", "elu"], "Did you mean 'elu'? Known: relu, elu."),
        ("ELU_CIFAR", ["nin", "elu_cifar"], "Did you mean 'elu_cifar'? Known: nin, elu_cifar."),
        ("abc", [], "Known: none."),
        (3, ["30"], "Did you mean '30'? Known: 30."),
    ],
)
def test_the_error_for_an_unknown_name_suggests_the_closest_name(name, known, expected):
    error = errors.unknown_name_error("model", name, iter(known))
    assert isinstance(error, errors.UsageError)
    assert str(error) == f"Unknown model {name!r}. {expected}"


@pytest.mark.parametrize("value", ["caff", None, ["caffe"]])
def test_unknown_choices_are_refused(value):
    errors.check_choice("padding", "same", ("caffe", "same"))
    with pytest.raises(errors.UsageError, match="Unknown padding .*: caffe, same"):
        errors.check_choice("padding", value, {"caffe": 1, "same": 2})


@pytest.mark.parametrize(
    ("range", "accepted", "refused"),
    [
        (errors.POSITIVE, [0.1, 3, np.float64(2)], [0, -1, math.inf, "1", None]),
        (errors.NON_NEGATIVE, [0, 0.0, 2], [-1e-9, math.nan, True]),
    ],
)
def test_numbers_of_the_wrong_sign_are_refused(range, accepted, refused):
    for value in accepted:
        errors.check_number("decay", value, range)
    for value in refused:
        with pytest.raises(errors.UsageError, match=f"^decay .* Received: {value!r}.$"):
            errors.check_number("decay", value, range)
