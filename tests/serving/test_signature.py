"""Signatures run batches of requests, and check the names and shapes of inputs."""

import numpy as np
import pytest

from elu_zoo.serving.signature import Tensor
from elu_zoo.serving.status_errors import StatusError

ROWS = {"x": ("float", (None, 2))}


def error_of(function, *arguments):
    with pytest.raises(StatusError) as raised:
        function(*arguments)
    assert raised.value.http_status == 400
    return raised.value.message


def requests_of(sizes):
    rng = np.random.default_rng(0)
    return [
        {
            "reals": rng.normal(size=(size, 2)).astype(np.float32),
            "longs": rng.integers(-(2**62), 2**62, size),
            "ints": rng.integers(-9, 9, (size, 2, 1), np.int32),
            "small": rng.integers(0, 256, size, np.uint8),
            "flags": rng.integers(0, 2, size).astype(bool),
            "texts": np.array([rng.bytes(5) for _ in range(size)], object),
        }
        for size in sizes
    ]


def assert_equal(actual, expected):
    assert list(actual) == list(expected)
    for name, values in expected.items():
        assert actual[name].dtype == values.dtype
        np.testing.assert_array_equal(actual[name], values)


@pytest.mark.parametrize("sizes", [(3,), (2, 1, 3)])
def test_batch_returns_the_outputs_of_each_request(loaded, sizes):
    mixed = loaded.signatures["serving_default"]
    requests = requests_of(sizes)
    results = mixed.run(requests)
    for request, result, size in zip(requests, results, sizes, strict=True):
        assert_equal(
            result,
            {
                "flags": ~request["flags"],
                "ints": request["ints"] - 1,
                "longs": request["longs"] + 1,
                "reals": request["reals"] * 2,
                "small": request["small"] // 2,
                "texts": request["texts"] + b"!",
                "texts_bytes": request["texts"] + b"\xff",
            },
        )
        assert mixed.size(request) == size == len(result["reals"])


def test_function_runs_once_for_a_batch(signature):
    sizes = []
    tested = signature(
        ROWS, {"y": ("float", (None, 2))}, lambda x: sizes.append(len(x)) or {"y": x}
    )
    tested.run([{"x": np.zeros((size, 2), np.float32)} for size in (1, 2, 3)])
    assert sizes == [6]


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        (ROWS, {"y": ("float", (None,))}, True),
        ({**ROWS, "z": ("float", ())}, {"y": ("float", (None,))}, False),
        ({**ROWS, "z": ("float", None)}, {"y": ("float", (None,))}, False),
        (ROWS, {"y": ("float", (3,))}, False),
        (ROWS, {"y": ("float", None)}, False),
        ({}, {"y": ("float", (None,))}, False),
    ],
)
def test_is_batched_if_the_first_dimension_of_every_tensor_is_unknown(
    signature, inputs, outputs, expected
):
    tested = signature(inputs, outputs)
    assert tested.is_batched is expected
    zeros = {name: np.zeros((5, 2)) for name in inputs}
    assert tested.size(zeros) == (5 if expected else 1)


def test_inputs_must_have_equal_numbers_of_examples(signature):
    tested = signature({"a": ("float", (None,)), "b": ("float", (None,))})
    assert "same number" in error_of(tested.size, {"a": np.zeros(2), "b": np.zeros(3)})


def test_inputs_are_sorted_and_have_the_declared_shape(signature):
    tested = signature({"b": ("float", (None, 3)), "a": ("string", None)})
    assert tested.inputs == {"a": Tensor("a", 7, None), "b": Tensor("b", 1, (None, 3))}
    assert list(tested.inputs) == ["a", "b"]
    assert tested.inputs["a"].is_string and not tested.inputs["b"].is_string


@pytest.mark.parametrize("sent", ["a", "bca", "ad"])
def test_missing_or_additional_inputs_raise_an_error(signature, sent):
    tested = signature({"a": ("float", (None,)), "b": ("float", (None,))})
    assert f"a, b, got {', '.join(sorted(sent))}" in error_of(tested.check_names, sent)
    tested.check_names("ba")


def test_errors_about_long_requests_are_short(signature):
    tested = signature({"a": ("float", (None,))})
    assert len(error_of(tested.check_names, ["x" * 10_000, "y" * 10_000])) < 600
    for declared in (None, 2), None:
        tensor = signature({"x": ("float", declared)}).inputs["x"]
        assert len(error_of(tensor.check_shape, [1] * 10_000)) < 500


@pytest.mark.parametrize(
    ("declared", "matches", "differs"),
    [
        ((None, 2), [(3, 2)], [(3, 3), (3,), (0, 2), (-1, 2)]),
        ((None, None), [(1, 0)], [(0, 1)]),
        ((2,), [(2,)], [(3,), ()]),
        ((2, None), [(2, 0)], [(2, -1)]),
        ((), [()], [(1,)]),
        (None, [(), (1,) * 32], [(1,) * 33, (3, -1)]),
    ],
)
def test_shapes_must_match_the_declaration(signature, declared, matches, differs):
    tensor = signature({"x": ("float", declared)}).inputs["x"]
    for shape in matches:
        tensor.check_shape(shape)
    for shape in differs:
        assert "x" in error_of(tensor.check_shape, shape)
