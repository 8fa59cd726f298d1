"""Tables of results.md and the README's summary, from rows of the benchmark."""

import dataclasses

import pytest
from pages import speed

from elu_zoo import errors
from elu_zoo.benchmark import report


def timed(part, case, form, ratio, unit="ms"):
    times = unit, 40, 2.0 * ratio, 1.0, 3.0
    return report.Row(part, case, form, *times, "ours, XLA", ratio, 0.5, 7.0, "a CPU")


def test_each_part_has_a_table():
    rows = [timed(part, "a net", "elu", 1.5) for part in ("step", "unit", "fit", "replicas")]
    rows += [timed("step", "another", "ours, XLA", 1.0), timed("step", "another", "JAX", 1.015)]
    rows += [timed(part, "a net", "elu", 1.5) for part in ("inference", "gpu")]
    rows += [
        timed("op", "jit, forward, 1e7 floats", "relu", 0.5),
        timed("op", "jit, forward, 128 x 128", "elu_xla", 0.25),
        timed("op", "errors", "elu_xla", 1.0, "ULP"),
        timed("serving", "a net, 1 client", "gRPC", 1.5),
        timed("serving", "a net, 1 client, p99", "gRPC", 3.5),
        timed("serving", "a net, 8 clients", "gRPC", 2.5),
        timed("serving", "a net, 8 clients, throughput", "gRPC", 60.0, "1/s"),
    ]
    tables = speed.measured(rows)
    assert tables["machines"].startswith("Measured on:\n\n- `step`, `unit`, `fit`, ")
    assert tables["step"].splitlines() == [
        "|  | a net | another |",
        "|---|---|---|",
        "| elu | 1.50 (0.500 to 7.000) |  |",
        "| ours, XLA |  | **1** (2 ms) |",
        "| JAX |  | 1.01 (0.500 to 7.000) |",
    ]
    assert tables["op"].split("\n\n") == [
        "|  | jit, forward, 1e7 floats |\n|---|---|\n| relu | 0.50 (0.500 to 7.000) |",
        "|  | jit, forward, 128 x 128 |\n|---|---|\n| elu_xla | 0.25 (0.500 to 7.000) |",
        "|  | errors (ULP) |\n|---|---|\n| elu_xla | 2 |",
    ]
    assert tables["serving"] == (
        "|  | a net, 1 client (ms) | a net, 8 clients, throughput (1/s) |\n"
        "|---|---|---|\n| gRPC | 3 | 120 |"
    )


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (0.8, 0.5, 0.9, "faster"),
        (0.8, 0.7, 1.1, "no difference shown"),
        (1.5, 1.1, 2.0, "slower"),
        (0.995, 0.99, 0.999, "no difference shown"),
        (0.8, 0.8, 0.8, "no difference shown"),  # rounds that do not vary
    ],
)
def test_the_uses_of_the_op_are_judged_by_their_intervals(ratio, low, high, verdict):
    changed = {"ratio": ratio, "ratio_low": low, "ratio_high": high}
    rows = [dataclasses.replace(row, **changed if row.form == "elu_xla" else {}) for row in ROWS]
    found = f"unless stated): {verdict}: compiled {ratio:.2f} ({low:.3f} to {high:.3f}), "
    assert found in speed.summary(rows)


CASES = {
    ("step", "elu_cifar_11, batch of 100"): {
        "ours": 1.0, "Keras fit": 1.5, "PyTorch": 2.5,
        "Keras fit, mixed_bfloat16": 1.25, "PyTorch, bfloat16": 1.75,
    },
    **{(part, case): {"elu_xla": 3.5} for part, case, _ in speed._USES},
    ("unit", "elu_cifar_11, batch of 100, float32"): {"elu": 4.5},
    ("unit", "mnist_mlp_8x128, batch of 64, float32"): {"elu": 6.5},
    ("inference", "elu_cifar_11, batch of 1"): {"SavedModel": 0.25, "model.predict": 5.5},
    ("serving", "elu_cifar_11, 32 clients, throughput"): {"gRPC": 600.0, "in process": 800.0},
}  # fmt: skip
ROWS = [
    timed(part, case, form, ratio)
    for (part, case), forms in CASES.items()
    for form, ratio in forms.items()
]


def test_the_summary_has_five_measurements():
    """`timed` makes times of twice the ratio, in milliseconds."""
    text = speed.summary(ROWS)
    for words in (
        "in bfloat16, takes 2 ms. Keras' `fit` takes 1.25 (0.500 to 7.000) times as long",
        "with its policy mixed_bfloat16 and 1.50 (0.500 to 7.000) in float32",
        "PyTorch 1.75 (0.500 to 7.000) in bfloat16 and 2.50 (",
        "no difference shown: compiled 3.50 (0.500 to 7.000), ",
        "in float32 4.50 (0.500 to 7.000) times as long, of `mnist_mlp_8x128` 6.50 (",
        "SavedModel takes 0.5 ms for an image; `model.predict` takes 5.50 (",
        "predicts 1,200 images a second over gRPC",
        ": 75 % of the rate of 32 threads",
    ):
        assert words in text, words
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == 5


def test_a_missing_row_names_the_part_to_measure():
    with pytest.raises(errors.UsageError, match="--parts=serving --csv"):
        speed.summary(ROWS[:-1])
