"""Each part of the benchmark runs, on the smallest network, for one round."""

import dataclasses
import functools
import os
import signal

import pytest

from elu_zoo import errors
from elu_zoo.benchmark import bars, parts
from elu_zoo.benchmark.parts import PARTS, Settings

SIZES = [f"{size:.0e}".replace("e+0", "e") for size in parts._SIZES]
SMALL = Settings(["mnist_mlp_8x128"], batch_size=8, rounds=1)


@pytest.fixture(scope="module")
def measured():
    """The rows of a part, measured in this process, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_SIZES", (1000,))
        yield functools.cache(lambda part: PARTS[part](SMALL))


# Of the package that converts to ONNX, where it is installed.
@pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")
@pytest.mark.parametrize(
    ("part", "forms"),
    [
        ("op", {"Schraudolph's exponential, XLA", "copy (negation), XLA"}),
        ("unit", {"elu", "relu", "relu, batch norm"}),
        pytest.param(
            "inference",
            {"SavedModel", "model.predict", "tf.function, XLA"},
            marks=pytest.mark.slow,
        ),
        # The binary's tests run this one.
        pytest.param("replicas", {"two devices"}, marks=pytest.mark.slow),
        pytest.param(
            "step",
            {"Keras fit, steps_per_execution", "JAX", "limit: matrix product"},
            marks=pytest.mark.slow,
        ),
        pytest.param("memory", {"relu, batch norm"}, marks=pytest.mark.slow),
        pytest.param(
            "serving",
            {"in process", "gRPC", "REST", "gRPC, unbatched", "REST, unbatched"},
            marks=pytest.mark.slow,
        ),
        pytest.param("policy", {"plain, 10 a call"}, marks=pytest.mark.slow),
    ],
)
def test_rows(measured, part, forms):
    rows = measured(part)
    assert {row.part for row in rows} == {part}
    assert forms <= {row.form for row in rows}
    for case in {row.case for row in rows}:
        of_case = [row for row in rows if row.case == case]
        assert len({row.form for row in of_case}) == len(of_case) > 1
        (baseline,) = {row.baseline for row in of_case}
        assert [row.ratio for row in of_case if row.form == baseline] == [1]
        assert all(row.value > 0 and row.rounds == 1 for row in of_case)


def test_bars_of_the_unit_are_measured(measured):
    """At the sizes that are not for a test."""
    for bar in bars.BARS:
        kind, _, size = bar.case.removesuffix(" elements").partition(", ")
        if bar.part == "op":
            assert size in SIZES
            case = f"{kind}, 1e3 elements"
            verdict = dataclasses.replace(bar, case=case).verdict(measured("op"))
            assert not verdict.startswith("not measured")


def test_a_failure_in_the_process_of_a_part():
    with pytest.raises(errors.UsageError, match="no_such_model"):
        parts.measure("unit", Settings(["no_such_model"]))


@pytest.mark.parametrize(
    ("names", "models", "batch_size", "backend", "words"),
    [
        (["replicas"], [], 7, "tensorflow", "batch_size is even. Received: 7"),
        (
            ["steps"],
            [],
            None,
            "tensorflow",
            "Unknown part 'steps'. Did you mean 'step'",
        ),
        (["step"], ["mlp"], None, "tensorflow", "mlp"),
        (["step", "op"], [], None, "jax", "The part op needs KERAS_BACKEND=tensorflow"),
    ],
)
def test_refusals(names, models, batch_size, backend, words):
    with pytest.raises(errors.EluZooError, match=words):
        parts.check(names, models, batch_size, backend)


def die(settings):
    """A part whose process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed(monkeypatch):
    monkeypatch.setitem(PARTS, "unit", die)
    with pytest.raises(errors.ResourceError, match="part unit was killed, probably"):
        parts.measure("unit", SMALL)


def test_what_is_not_refused():
    parts.check(list(PARTS), ["elu_cifar_11"], 8, "tensorflow")
    parts.check(list(PARTS), ["elu_cifar_11"], None, "tensorflow")
    parts.check(parts.ON_JAX, ["elu_cifar_11"], 7, "jax")


def test_extents():
    settings = Settings(["elu_cifar_11"])
    assert settings.extent(20, least=40) == parts.Extent(20, 40, 300, False)
    assert SMALL.extent(20, least=40, warm=True) == parts.Extent(0, 1, 1, True)


@pytest.mark.slow
def test_start_up():
    rows = parts.measure("start_up", SMALL)
    seconds = {row.form: row.value for row in rows}
    assert seconds["import elu_zoo"] < seconds["import tensorflow"]
    assert seconds["first prediction, elu_cifar_11"] > seconds["import tensorflow"]
