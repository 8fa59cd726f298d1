"""speed.md and the README's summary, from rows of the benchmark."""

import pytest
from pages import speed
from scripts import TOOLS

from elu_zoo import errors
from elu_zoo.benchmark import report


def timed(part, case, form, ratio, unit="ms"):
    times = unit, 40, 2.0 * ratio, 1.0, 3.0
    return report.Row(part, case, form, *times, "ours, XLA", ratio, 0.5, 7.0, "a CPU")


TIMES = [
    timed("op", "forward, 1e6 elements", "relu", 0.4),
    timed("op", "forward, 1e7 elements", "relu", 0.5),
    timed("op", "errors", "ours, XLA", 1.0, "largest error"),
    timed("op", "errors", "Schraudolph's exponential, XLA", 1.5, "largest error"),
    timed("memory", "a net", "elu", 1.25, "MiB"),
    timed("step", "a net", "elu", 1.5),
    timed("serving", "a net, 1 client", "gRPC", 1.5),
    timed("serving", "a net, 1 client, p99", "gRPC", 3.5),
    timed("serving", "a net, 8 clients", "gRPC", 2.5),
    timed("serving", "a net, 8 clients, throughput", "gRPC", 60.0, "1/s"),
]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("machine", "Measured on: a CPU."),
        ("schraudolph", "Largest errors: ours 2, Schraudolph's 3."),
        ("memory", "| | a net |\n|---|---|\n| elu | 1.25 (0.50 to 7.00) |"),
        ("step", "| | a net |\n|---|---|\n| elu | 1.50 (0.50 to 7.00) |"),
        (
            "op",
            "| | forward, 1e7 elements |\n|---|---|\n| relu | 0.50 (0.50 to 7.00) |",
        ),
        (
            "serving",
            "| | a net, 1 client (ms) | a net, 8 clients, throughput (1/s) |\n"
            "|---|---|---|\n| gRPC | 3 | 120 |",
        ),
    ],
)
def test_each_part_has_a_table(part, expected):
    assert speed.table(part, TIMES) == expected


CASES = {
    ("step", "elu_cifar_11, batch of 100"): {
        "ours": 1.0, "Keras fit": 1.5, "PyTorch": 2.5,
        "Keras fit, mixed_bfloat16": 1.25, "PyTorch, bfloat16": 1.75,
    },
    ("op", "forward, 1e7 elements"): {"tf.nn.elu, XLA": 3.5},
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
        "`tf.nn.elu` takes 3.50 (0.50 to 7.00) times as long as ours",
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
    page = speed.page(rows)
    assert "$" not in page and rows[0].machine in page
    parts = "step", "unit", "memory", "op", "inference", "serving", "start_up"
    assert all(speed.table(part, rows) in page for part in parts)
