"""speed.md and the README's summary, from rows of the benchmark."""

import dataclasses

import pytest
from pages import op_use, speed, strategies
from scripts import TOOLS

from elu_zoo import errors, results
from elu_zoo.benchmark import report


def timed(part, case, form, ratio, unit="ms"):
    times = unit, 40, 2.0 * ratio, 1.0, 3.0
    return report.Row(part, case, form, *times, "ours, XLA", ratio, 0.5, 7.0, "a CPU")


BOUNDS = "(0.50 to 7.00)"
TIMES = [
    timed("op", "jit, 1e7 floats", "relu", 0.5),
    timed("op", "jit, 128 x 128", "elu_xla", 0.25),
    timed("op", "jit, 128 x 128, layers", "ELU()", 4.5),
    timed("op", "errors", "elu_xla", 1.0, "ULP"),
    timed("step", "a net", "elu", 1.5),
    timed("serving", "a net, 1 client", "gRPC", 1.5),
    timed("serving", "a net, 1 client, p99", "gRPC", 3.5),
    timed("serving", "a net, 8 clients", "gRPC", 2.5),
    timed("serving", "a net, 8 clients, throughput", "gRPC", 60.0, "1/s"),
]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("machine", "Measured on:\n\n- `op`, `step`, `serving`: a CPU."),
        ("op_values", "| | errors (ULP) |\n|---|---|\n| elu_xla | 2 |"),
        ("step", "| | a net |\n|---|---|\n| elu | 1.50 (0.50 to 7.00) |"),
        ("op_large", f"| | jit, 1e7 floats |\n|---|---|\n| relu | 0.50 {BOUNDS} |"),
        ("op_small", f"| | jit, 128 x 128 |\n|---|---|\n| elu_xla | 0.25 {BOUNDS} |"),
        ("op_layers", "| | jit, 128 x 128, layers |\n|---|---|\n| ELU() | 4.50 (0"),
        (
            "serving",
            "| | a net, 1 client (ms) | a net, 8 clients, throughput (1/s) |\n"
            "|---|---|---|\n| gRPC | 3 | 120 |",
        ),
    ],
)
def test_each_part_has_a_table(part, expected):
    assert speed.table(part, TIMES).startswith(expected)


def test_the_uses_of_the_op_are_sorted_by_their_intervals():
    intervals = {"a": (0.5, 0.9), "b": (0.9, 1.1), "c": (1.1, 2.0)}
    rows = [
        dataclasses.replace(timed("op", case, "elu_xla", 0.8), ratio_low=low, ratio_high=high)
        for case, (low, high) in intervals.items()
    ]
    *_, line = op_use.row([*rows, *TIMES[:1], *TIMES[3:]]).splitlines()
    assert line == (
        "| where the op pays | op, a: 0.80 (0.50 to 0.90) | op, b: 0.80 (0.90 to "
        "1.10) | op, c: 0.80 (1.10 to 2.00) |"
    )
    found = iter([rows[0]] * 2 + [rows[2]] * 5)
    sentence = op_use.sentence(lambda *_: next(found))
    assert "is faster compiled 0.80 (0.50 to 0.90), " in sentence
    assert "; slower eager with the gradient 0.80 (1.10 to 2.00), " in sentence
    assert "as fast" not in sentence


def test_runs_by_several_strategies_are_compared_with_one_device():
    keys = "strategy", "backend", "train_loss", "test_error_percent"
    runs = [
        ("one", "tensorflow", "0.4", "2.5"), ("mirrored", "tensorflow", "0.5", "2.5"),
        ("multi_worker", "tensorflow", "0.4", "2.1"), ("one", "jax", "0.4", "2.5"),
    ]  # fmt: skip
    same = {"config": "net", "epochs": "9", "seed": "1", "schedule_share": "0.1"}
    rows = [same | dict(zip(keys, run, strict=True)) for run in runs]
    text = strategies.table(rows)
    whole = [row | {"schedule_share": "1.0"} for row in rows]
    assert "\n| `net`, 9 epochs | 1 | 0.4, 2.50 % | 0.5, 2.50 % | 0.4, 2.1" in text
    assert "are 0.2 of the loss and 0.40 points of the error. " in text
    assert text.endswith("(cards.md#mnist_mlp_5x256mnist_leaky_relu-a95d6ac5).")
    assert "`net`, whole |" in strategies.table(whole)


CASES = {
    ("step", "elu_cifar_11, batch of 100"): {
        "ours": 1.0, "Keras fit": 1.5, "PyTorch": 2.5,
        "Keras fit, mixed_bfloat16": 1.25, "PyTorch, bfloat16": 1.75,
    },
    **{(part, case): {"elu_xla": 3.5} for part, case, _ in op_use._USES},
    ("unit", "elu_cifar_11, batch of 100"): {"elu": 4.5},
    ("inference", "elu_cifar_11, batch of 1"): {
        "SavedModel": 0.25, "model.predict": 5.5,
    },
    ("serving", "elu_cifar_11, 32 clients, throughput"): {
        "gRPC": 600.0, "in process": 800.0,
    },
}  # fmt: skip
ROWS = [
    timed(part, case, form, ratio)
    for (part, case), forms in CASES.items()
    for form, ratio in forms.items()
]


def test_the_summary_has_five_measurements():
    """`timed` makes times of twice the ratio, in milliseconds."""
    text = speed.summary(ROWS, lambda target: f"../{target}")
    for words in (
        "in bfloat16, takes 2 ms. Keras' `fit` takes 1.25 (0.50 to 7.00) times as long",
        "with its policy mixed_bfloat16 and 1.50 (0.50 to 7.00) in float32",
        "PyTorch 1.75 (0.50 to 7.00) in bfloat16 and 2.50 (",
        "is as fast within the interval compiled 3.50 (0.50 to 7.00), ",
        "that training step 4.50 (0.50 to 7.00) times as long",
        "SavedModel takes 0.5 ms for an image; `model.predict` takes 5.50 (",
        "predicts 1,200 images a second over gRPC",
        ": 75% of the rate of 32 threads",
        "](../configs/results/speed.md)",
    ):
        assert words in text, words
    assert len([line for line in text.splitlines() if line.startswith("- ")]) == 5


@pytest.mark.parametrize("index", range(len(ROWS)))
def test_a_missing_row_names_the_part_to_measure(index):
    others = ROWS[:index] + ROWS[index + 1 :]
    with pytest.raises(errors.UsageError, match=f"--parts={ROWS[index].part} --csv"):
        speed.summary(others, str)


def test_the_page_has_every_table():
    rows = report.read(TOOLS.parent / "configs/results/benchmark.csv")
    runs = results.read("strategies.csv")
    page = speed.page(rows, runs)
    assert "$" not in page and rows[0].machine in page
    assert strategies.table(runs) in page
    parts = "step unit op_large fit replicas inference serving".split()
    assert all(speed.table(part, rows) in page for part in parts)
