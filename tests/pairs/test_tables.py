"""Markdown tables have rounded numbers."""

import pytest

from elu_zoo.pairs import tables


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
