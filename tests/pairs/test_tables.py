"""Markdown tables have rounded numbers."""

from elu_zoo.pairs import tables


def test_means_have_three_digits_or_four_from_10_on_with_a_standard_deviation():
    expected = {"28.75 ± 0.25": [28.5, 28.75, 29.0], "0.000123 ± 0": [0.00012345] * 2}
    for text, values in {"": [], "1.23": [1.23456], **expected}.items():
        assert tables.mean(values) == text


def test_markdown_has_a_line_for_the_titles_and_for_each_row():
    found = tables.markdown(["unit", "n"], [["elu", 5], ["relu", ""]])
    assert found == "| unit | n |\n|---|---|\n| elu | 5 |\n| relu |  |"
