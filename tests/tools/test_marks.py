"""Marks of README.md files."""

import pytest
from pages import marks

from elu_zoo import errors


def block(name, old="old"):
    return f"{marks.BEGIN.format(name)}\n{old}\n{marks.END.format(name)}\n"


CONTENTS = {
    "runs": lambda link: "new",
    "tally": lambda link: f"[all]({link('configs/results/claims.csv')})",
}
BOTH = block("runs") + "between\n" + block("tally")


def test_only_text_between_marks_changes():
    filled = marks.fill({"README.md": f"before\n{BOTH}after\n", "b": "none"}, CONTENTS)
    link = "[all](configs/results/claims.csv)"
    new = block("runs", "new") + "between\n" + block("tally", link)
    assert filled == {"README.md": f"before\n{new}after\n"}
    assert marks.fill(filled, CONTENTS) == filled


@pytest.mark.parametrize(
    ("page", "target"),
    [
        ("README.md", "configs/results/claims.csv"),
        ("configs/README.md", "results/claims.csv"),
        ("elu_zoo/models/README.md", "../../configs/results/claims.csv"),
    ],
)
def test_links_are_relative_to_the_page(page, target):
    texts = {"other/README.md": block("runs"), page: block("tally")}
    assert f"[all]({target})" in marks.fill(texts, CONTENTS)[page]


BEGINS, ENDS = (mark.format("runs") + "\n" for mark in (marks.BEGIN, marks.END))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": block("rnus") + BOTH}, "Unknown mark in a 'rnus'. Did you mean 'runs'"),
        ({"a": block("runs")}, "No README.md has the mark 'tally'. Put the lines <"),
        ({"a": BOTH, "b": block("runs")}, "'runs' is in a and in b. Remove one"),
        ({"a": BOTH + block("runs")}, "'runs' is in a and in a. Remove one"),
        (
            {"a": BEGINS + block("tally")},
            "The marks of a must be pairs .* runs begin, ta",
        ),
        (
            {"a": ENDS + block("tally")},
            "The marks of a must be pairs .* runs end, tall",
        ),
        ({"a": ENDS + BEGINS + block("tally")}, "The marks of a must be pairs"),
        ({"a": BEGINS + block("tally") + ENDS}, "The marks of a must be pairs"),
    ],
)
def test_wrong_marks_are_refused(texts, message):
    with pytest.raises(errors.UsageError, match=message):
        marks.fill(texts, CONTENTS)


@pytest.mark.parametrize(
    ("folder", "is_listed"),
    [
        (".", True),
        ("configs", True),
        ("elu_zoo/export", True),
        ("runs/mnist", False),
        ("tools/runs", False),
        (".venv/lib", False),
        ("env/lib", False),
    ],
)
def test_ignored_folders_are_skipped(folder, is_listed, tmp_path):
    (tmp_path / ".gitignore").write_text("*.svg\n/runs/\n")
    (tmp_path / "env").mkdir()
    (tmp_path / "env/pyvenv.cfg").touch()
    path = tmp_path / folder / "README.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert marks.readmes(tmp_path) == [path] * is_listed
