"""Numbers of the report are recomputed from the rows of the runs.

Nothing of the package takes part: rows are read by csv, and formulas are written again.
"""

import csv
import functools
import math
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from scipy import stats

RESULTS = Path(__file__).parents[2] / "configs" / "results"
COLUMNS = {  # of the tables in the report
    "training loss": "train_loss",
    "training loss, last epoch": "last_epoch_loss",
    "median activation": "median_activation",
    "test error %": "test_error_percent",
    "MNIST test error, %": "test_error_percent",
    "epochs until the training loss is 0.1": "epochs_to_loss",
    "squared error, training images": "measured_squared_error",
    "squared error, test images": "test_squared_error",
}
SECTIONS = {"fig2": "full", "fig3": "short", "fig4": "short", "depth": "full"}  # shown budgets


@functools.cache
def read(name):
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def runs(figure, budget):
    """Returns the rows of each run by (activation, variant) and seed."""
    found = defaultdict(lambda: defaultdict(list))
    for row in read(f"figures/{figure}.csv"):
        if row["budget"] == budget and not row["diverged"]:
            found[row["activation"], row["variant"]][row["seed"]].append(row)
    return found


def last(rows, column):
    """Returns a column's last value in the rows of a run."""
    return [float(row[column]) for row in rows if row[column]][-1]


def of_table(figure, budget):
    """Yields a name, a text of the report and its value, for each table cell of a section."""
    report = (RESULTS / "reproduction.md").read_text()
    title = {"fig2": "Figure 2:", "fig3": "Figure 3:", "fig4": "Figure 4:", "depth": "Depth:"}
    section = report.split(f"## {title[figure]}")[1].split("\n## ")[0].split("\n###")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if "|" in line]
    (_, _, *titles), _, *lines = lines
    arms = runs(figure, budget)
    for arm, count, *cells in lines:
        activation, _, variant = arm.partition(", ")
        measured = arms[activation, variant]
        assert len(measured) == int(count)
        for name, text in zip(titles, cells, strict=True):
            values = [last(rows, COLUMNS[name]) for rows in measured.values()]
            mean, deviation = statistics.mean(values), statistics.stdev(values)
            yield f"{figure}, {arm}, {name}", text, f"{mean:.4g} ± {deviation:.2g}"


def crossing(rows, loss):
    """Returns the epoch in which the logarithm of the loss, interpolated, is reached."""
    curve = [(int(r["epoch"]), float(r["train_loss"])) for r in rows if r["train_loss"]]
    for (early, high), (late, low) in zip(curve, curve[1:], strict=False):
        if low <= loss < high:
            share = (math.log(high) - math.log(loss)) / (math.log(high) - math.log(low))
            return early + share * (late - early)
    raise AssertionError(f"{loss} is not reached")


def in_epoch_5(rows):
    (row,) = [row for row in rows if row["epoch"] == "5"]
    return float(row["train_loss"])


def differences(test):
    """Returns the differences of pairs of runs that a claim's test is about, or None."""
    if match := re.fullmatch(r"mnist-learns-faster-than-(\w+)", test):
        figure, arms, measure = "fig2", [("elu", ""), (match[1], "")], in_epoch_5
    elif match := re.fullmatch(r"mnist-fits-to-([\d.]+)-sooner-than-(\w+)", test):
        figure, arms = "fig2", [("elu", ""), (match[2], "")]

        def measure(rows):
            return crossing(rows, float(match[1]))
    elif match := re.fullmatch(r"depth-(\d+)-generalises-better-than-(\w+)", test):
        variant = f"{int(match[1]):02} layers"
        figure, arms = "depth", [("elu", variant), (match[2], variant)]

        def measure(rows):
            return last(rows, "test_error_percent")
    elif match := re.fullmatch(r"autoencoder-(training|test)-(0\S*|1\S*)-better-than-(\w+)", test):
        column = "measured_squared_error" if match[1] == "training" else "test_squared_error"
        figure, arms = "fig3", [(name, f"lr {match[2]}") for name in ("elu", match[3])]

        def measure(rows):
            return math.log10(last(rows, column))
    else:
        return None
    found = runs(figure, SECTIONS[figure])
    first, second = (found[arm] for arm in arms)
    return [measure(first[seed]) - measure(second[seed]) for seed in sorted(first)]


def of_tests():
    """Yields a name, a text of claim_tests.csv and its value, for ends of intervals."""
    for row in read("claim_tests.csv"):
        if row["n"] != "0" and (values := differences(row["id"])):
            mean, error = statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5
            half = stats.t.ppf(0.975, len(values) - 1) * error
            ends = {"effect": mean, "low": mean - half, "high": mean + half}
            for name, value in ends.items():
                yield f"{row['id']}, {name}", row[name], f"{value:.4g}"
            p = 2 * stats.t.sf(abs(mean) / error, len(values) - 1)
            yield f"{row['id']}, p", row["p"], f"{p:.4g}"


def test_the_numbers_of_the_report_follow_from_the_rows():
    numbers = [cell for section in SECTIONS.items() for cell in of_table(*section)] + [*of_tests()]
    assert len(numbers) > 100
    for name, text, value in numbers:
        for given, made in zip(text.split(" ± "), value.split(" ± "), strict=True):
            # The last of three digits (from 10 on four) may be rounded the other way.
            tolerance = 1.1e-3 if float(made) >= 10 else 6e-3
            assert float(given) == pytest.approx(float(made), rel=tolerance), name
