"""Markdown tables have rounded numbers, and paired tests of activations."""

import pytest

from elu_zoo.pairs import grouping, tables

MEASURES = {"error": "test error %"}
LOW, HIGH = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5), (2.0, 2.2, 2.4, 2.6, 2.8, 3.0)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([1.23456], "1.23"),
        ([28.5, 28.75, 29.0], "28.8 ± 0.25"),
        ([0.00012345] * 2, "0.000123 ± 0"),
    ],
)
def test_means_have_three_digits_and_a_standard_deviation(values, text):
    assert tables.mean(values) == text


def test_markdown_has_a_line_for_the_titles_and_for_each_row():
    found = tables.markdown(["unit", "n"], [["elu", 5], ["relu", ""]])
    assert found == "| unit | n |\n|---|---|\n| elu | 5 |\n| relu |  |"


def rows(batch_norm="False", variant="", **errors):
    """Returns one row for each run; `errors` are the errors of runs by activation."""
    return [
        {"activation": name, "batch_norm": batch_norm, "variant": variant}
        | {"seed": str(seed), "error": str(error)}
        for name, values in errors.items()
        for seed, error in enumerate(values)
    ]


def lines(table):
    """Returns the cells of a Markdown table below its titles."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]
    ]


@pytest.mark.parametrize(
    ("errors", "pair", "lower"),
    [
        ({"elu": LOW, "relu": HIGH}, "ELU - ReLU", "ELU"),
        ({"elu": HIGH, "relu": LOW}, "ELU - ReLU", "ReLU"),
        ({"elu": LOW, "relu": LOW}, "ELU - ReLU", "not decided"),
        ({"elu": LOW[:5], "relu": HIGH}, "ELU - ReLU", "not decided"),
    ],
)
def test_paired_tests_state_the_activation_with_lower_values(errors, pair, lower):
    ((title, names, n, difference, _, p, effect, verdict),) = lines(
        tables.paired_tests(grouping.frame(rows(**errors)), MEASURES)
    )
    assert (title, names, verdict) == ("test error %", pair, lower)
    assert n == str(min(map(len, errors.values()))) and f"n = {n}" in p
    has_interval = errors["elu"] != errors["relu"]
    assert (" to " in difference) == has_interval and -1 <= float(effect) <= 1


def test_pairs_have_the_same_variant_and_batch_norm():
    runs = [
        *rows(elu=LOW, relu=HIGH),
        *rows("True", elu=LOW, relu=HIGH),
        *rows(variant="lr 1", elu=LOW[:1], relu=HIGH[:1]),
    ]
    table = lines(tables.paired_tests(grouping.frame(runs), MEASURES))
    expected = [
        ("", "ELU - ReLU"),
        ("lr 1", "ELU - ReLU"),
        ("", "ELU + BN - ReLU + BN"),
    ]
    assert [(variant, pair) for variant, _, pair, *_ in table] == expected
    assert table[1][4] == "-1"  # one pair has no interval


@pytest.mark.parametrize("errors", [{"elu": LOW}, {"elu": LOW[:1], "relu": ("",)}])
def test_without_a_pair_there_is_no_table(errors):
    assert tables.paired_tests(grouping.frame(rows(**errors)), MEASURES) == ""
