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


@pytest.mark.parametrize("sizes", [(3,), (1, 1), (2, 1, 3)])
def test_batch_returns_the_outputs_of_each_request(loaded, sizes):
    mixed = loaded.signatures["serving_default"]
    requests = requests_of(sizes)
    results = mixed.run(requests)
    for request, result, size in zip(requests, results, sizes, strict=True):
        assert_equal(result, mixed.run([request])[0])
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
    calls = []

    def function(x):
        calls.append(x.shape[0])
        return {"y": x + 1}

    tested = signature(ROWS, {"y": ("float", (None, 2))}, function)
    tested.run([{"x": np.zeros((size, 2), np.float32)} for size in (1, 2, 3)])
    assert calls == [6]


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
    message = error_of(tested.size, {"a": np.zeros(2), "b": np.zeros(3)})
    assert message == "Batching Run() input tensors must have equal 0th-dimension size"


def test_inputs_are_sorted_and_have_the_declared_shape(signature):
    tested = signature({"b": ("float", (None, 3)), "a": ("string", None)})
    assert tested.inputs == {"a": Tensor("a", 7, None), "b": Tensor("b", 1, (None, 3))}
    assert list(tested.inputs) == ["a", "b"]
    assert tested.inputs["a"].is_string and not tested.inputs["b"].is_string


@pytest.mark.parametrize(
    ("sent", "text"),  # the texts are TensorFlow Serving's, word for word
    [
        (
            ["a"],
            "input size does not match signature: 1!=2 len({a}) != len({a,b}). "
            "Sent extra: {}. Missing but required: {b}.",
        ),
        (
            ["b", "c", "a"],
            "input size does not match signature: 3!=2 len({a,b,c}) != len({a,b}). "
            "Sent extra: {c}. Missing but required: {}.",
        ),
        (
            ["a", "d"],
            "Signature input alias: b(feed name: b:0) not found in request and no "
            "default value provided. Inputs expected to be in the request {a,d}, or "
            "default input alias set: ",
        ),
    ],
)
def test_missing_or_additional_inputs_raise_an_error(signature, sent, text):
    tested = signature({"a": ("float", (None,)), "b": ("float", (None,))})
    assert error_of(tested.check_names, sent) == text
    tested.check_names(["b", "a"])


def test_errors_about_long_requests_are_short(signature):
    tested = signature({"a": ("float", (None,))})
    assert len(error_of(tested.check_names, ["x" * 10_000, "y" * 10_000])) < 600
    for declared in (None, 2), None:
        tensor = signature({"x": ("float", declared)}).inputs["x"]
        assert len(error_of(tensor.check_shape, [1] * 10_000)) < 500


@pytest.mark.parametrize(
    ("declared", "shape", "text"),
    [
        ((None, 2), (3, 2), ""),
        ((None, None), (1, 0), ""),
        ((2,), (2,), ""),
        ((), (), ""),
        (None, (), ""),
        (None, (1,) * 32, ""),
        (None, (1,) * 33, "must have at most 32 dimensions with sizes >= 0, got shape"),
        (
            None,
            (3, -1),
            "Tensor x must have at most 32 dimensions with sizes >= 0, got",
        ),
        ((None, 2), (3, 3), "[3,3] is not compatible with expected shape [?,2] and"),
        ((None, 2), (3,), "[3] is not compatible with expected shape [?,2] and"),
        ((None, 2), (0, 2), "[?,2] and at least one example."),
        ((None, 2), (-1, 2), "[-1,2] is not compatible"),
        ((2, None), (2, -1), "[2,-1] is not compatible with expected shape [2,?]."),
        (
            (2,),
            (3,),
            "Shape of tensor x [3] is not compatible with expected shape [2].",
        ),
        ((), (1,), "[1] is not compatible with expected shape []."),
    ],
)
def test_shapes_must_match_the_declaration(signature, declared, shape, text):
    tensor = signature({"x": ("float", declared)}).inputs["x"]
    if text:
        assert text in error_of(tensor.check_shape, shape)
    else:
        tensor.check_shape(shape)
