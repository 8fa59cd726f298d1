"""Printed tables, on a terminal and in a file."""

import re

import pytest

from elu_zoo.bin import table

NAME = "photos[bold]:cat:/" + "n02099601_golden_retriever_" * 9 + ".JPEG"


@pytest.mark.parametrize(("is_terminal", "is_unbroken"), [(False, True), (True, False)])
def test_rows_are_wrapped_on_a_terminal_only(monkeypatch, capsys, is_terminal, is_unbroken):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    table.show([{"image": NAME, "class": "dog"}, {"image": "a.png", "class": "cat"}])
    lines = re.sub("\x1b[^m]*m", "", capsys.readouterr().out).splitlines()
    assert any(NAME in line and "dog" in line for line in lines) == is_unbroken
    widths = {len(line) for line in lines}
    assert len(widths) == 1 and (max(widths) <= 60) == is_terminal


def test_control_characters_of_names_are_replaced(capsys):
    table.show([{"class": "\x1b]0;title\x07cat\x1b[2J"}])
    shown = capsys.readouterr().out
    assert "\ufffd]0;title\ufffdcat\ufffd[2J" in shown and "\x1b" not in shown
