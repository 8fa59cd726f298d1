"""tools/results_table.py: marks, files that are out of date, and links."""

import re
import shutil
from unittest import mock

import pytest
from scripts import TOOLS, results_table

from elu_zoo import errors
from elu_zoo.weights import manifest

ROOT = TOOLS.parent
PAGE = "configs/results/results.md"
GUIDES = [f"elu_zoo/{folder}/README.md" for folder in ("export", "models", "training")]


def block(name, text="old\n"):
    return f"<!-- {name}: begin (tools/results_table.py) -->\n{text}<!-- {name}: end -->\n"


def test_only_text_between_marks_changes():
    text = f"before\n{block('runs')}between\n{block('tally', '')}after\n"
    filled = results_table.fill("a", text, {"runs": "new", "tally": r"\1"})
    new = block("runs", "new\n"), block("tally", "\\1\n")
    assert filled == f"before\n{new[0]}between\n{new[1]}after\n"


@pytest.mark.parametrize(
    "text",
    [
        block("rnus"),  # unknown
        "",  # missing
        block("runs") * 2,
        block("runs") + block("tally"),
        block("runs") + block("runs").partition("\n")[0],  # without an end
    ],
)
def test_wrong_marks_are_refused(text):
    with pytest.raises(errors.UsageError, match="pairs of marks runs once"):
        results_table.fill("a", text, {"runs": "new"})


def test_the_committed_files_are_up_to_date():
    texts = results_table.generate(ROOT)
    assert list(texts) == ["README.md", PAGE, *GUIDES]
    assert results_table.find_stale(ROOT, texts) == []


@pytest.fixture
def copy(tmp_path):
    """A copy of the generated files and of the files they are generated from."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for page in "README.md", *GUIDES:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    return tmp_path


@pytest.mark.parametrize("name", ["README.md", PAGE, *GUIDES])
def test_a_changed_file_is_written_again(copy, name, monkeypatch):
    text = (copy / name).read_text()
    (copy / name).write_text(re.sub(r"(: begin .*\n)", r"\1more\n", text))
    assert results_table.find_stale(copy, results_table.generate(copy)) == [name]
    monkeypatch.setattr(results_table, "_ROOT", copy)
    monkeypatch.setattr(results_table, "_CHECK", mock.Mock(value=False))
    results_table.main([])
    assert (copy / name).read_text() == text


def test_every_weight_file_has_a_card():
    titles = re.findall(r"^### (.*)$", (ROOT / PAGE).read_text(), re.MULTILINE)
    assert titles[-len(manifest.list_weights()) :] == manifest.list_weights()


@pytest.mark.parametrize("name", ["README.md", PAGE])
def test_the_licence_is_quoted_word_for_word(name):
    text = " ".join((ROOT / name).read_text().split())
    assert text.count("It is not settled law what these terms imply for weights.") == 1
