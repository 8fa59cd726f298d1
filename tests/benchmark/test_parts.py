"""Parts of the benchmark, in one round with the smallest network."""

import os
import signal

import pytest

from elu_zoo import errors
from elu_zoo.benchmark import op, parts
from elu_zoo.benchmark.parts import PARTS, Scope

SMALL = Scope(["mnist_mlp_8x128"], batch_size=8, rounds=1)
WHITENED = Scope(["nin"], rounds=1)  # a network with stored statistics


@pytest.fixture
def measure(monkeypatch):
    """A function that measures a part in this process."""
    monkeypatch.setattr(op, "SHAPES", {"1,000 floats": (1000,)})
    monkeypatch.setattr(op, "MEMORY_FLOATS", 2**20)
    return lambda part: PARTS[part](WHITENED if part == "inference" else SMALL)


FORMS = {
    "op": {"elu_xla", "ELU(jit_compile=True)", "copy (negation)", "jax"},
    "unit": {"elu", "relu", "relu, batch norm"},
    "fit": {"elu_xla"},
    "inference": {"SavedModel", "model.predict", "tf.function, XLA"},
    "replicas": {"Keras fit, two devices"},
    "step": {"Keras fit, steps_per_execution", "JAX", "limit: matrix product"},
    "serving": {"in process", "gRPC", "REST", "gRPC, unbatched", "REST, unbatched"},
}


# The part inference exports to ONNX by tf2onnx, which raises this warning.
@pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning")
@pytest.mark.slow
@pytest.mark.parametrize(("part", "forms"), FORMS.items())
def test_each_part_compares_forms_with_one_baseline(measure, part, forms):
    rows = measure(part)
    assert {row.part for row in rows} == {part}
    assert forms <= {row.form for row in rows}
    for case in {row.case for row in rows}:
        of_case = [row for row in rows if row.case == case]
        assert len({row.form for row in of_case}) == len(of_case) > 1
        (baseline,) = {row.baseline for row in of_case}
        assert [row.ratio for row in of_case if row.form == baseline] == [1]
        assert all(row.value > 0 and row.rounds == 1 for row in of_case)


def kill(scope):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_process_raises_a_resource_error(monkeypatch):
    monkeypatch.setitem(PARTS, "unit", kill)
    with pytest.raises(errors.ResourceError, match="memory"):
        parts.measure("unit", SMALL)


@pytest.mark.parametrize(
    ("names", "batch_size", "backend", "word"),
    [
        (["replicas"], 7, "tensorflow", "even"),
        (["steps"], None, "tensorflow", "Did you mean 'step'"),
        (["op", "serving"], 8, "tensorflow", "serving"),
        (["step", "op"], None, "jax", "KERAS_BACKEND"),
    ],
)
def test_wrong_arguments_are_refused(monkeypatch, names, batch_size, backend, word):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    parts.check(parts.ON_JAX, 7, "jax")
    with pytest.raises(errors.EluZooError, match=word):
        parts.check(names, batch_size, backend)
