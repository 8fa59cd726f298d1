"""tools/results_table.py: files that are out of date, and generated pages."""

import re
import shutil

import pytest
from scripts import TOOLS, results_table

from elu_zoo import errors
from elu_zoo.weights import card, manifest

ROOT = TOOLS.parent
PAGES = [f"configs/results/{name}.md" for name in ("cards", "runs", "speed")]
FIGURES = "configs/results/figures"
POINTS, PICTURE = (f"{FIGURES}/overview.{kind}" for kind in ("csv", "png"))
CHANGES = f"{FIGURES}/image_changes.csv"


def test_the_committed_files_are_up_to_date():
    texts = results_table.generate(ROOT)
    readmes = [name for name in texts if name not in (*PAGES, POINTS, CHANGES)]
    assert list(texts) == [*readmes, *PAGES, POINTS, CHANGES] and "README.md" in readmes
    assert results_table.find_stale(ROOT, texts) == []


@pytest.fixture
def copy(tmp_path):
    """A copy of the generated files and of the files they are generated from."""
    readmes = [name for name in results_table.generate(ROOT) if name.endswith("README.md")]
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for name in (".gitignore", *readmes):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def stale(root):
    return results_table.find_stale(root, results_table.generate(root))


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_a_changed_file_is_written_again(copy, name):
    text = (copy / name).read_text()
    (copy / name).write_text(text.replace("0", "1"))
    assert stale(copy) == [name]
    results_table.write(copy)
    if name != "README.md":  # the text outside the marks stays changed
        assert (copy / name).read_text() == text
    assert stale(copy) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_missing_page_is_stale(copy, name):
    (copy / name).unlink()
    assert stale(copy) == [name]


def test_the_figure_is_drawn_again_for_new_points(copy):
    before = (copy / PICTURE).read_bytes()
    rows = copy / "configs/results/results.csv"
    seed = "elu_cifar_11-cifar100-paper10,elu_cifar_11,cifar100,elu,False,0,"
    text = rows.read_text()
    line = next(line for line in text.splitlines() if line.startswith(seed))
    rows.write_text(text + line.replace(",False,0,", ",False,5,") + "\n")
    assert {POINTS, PICTURE} <= set(stale(copy))
    results_table.write(copy)
    assert stale(copy) == []
    assert (copy / PICTURE).read_bytes() != before
    (copy / PICTURE).unlink()
    assert stale(copy) == [PICTURE]


@pytest.mark.parametrize("field", ["examples", "multiply_accumulates", "hardware"])
def test_an_entry_without_a_field_of_its_card_fails_the_check(copy, field, monkeypatch):
    tag, entry = next(iter(manifest.published().items()))
    incomplete = {key: value for key, value in entry.items() if key != field}
    monkeypatch.setattr(manifest, "published", lambda: {tag: incomplete})
    with pytest.raises(errors.CorruptError, match=f"{tag} lacks {field}, which"):
        results_table.generate(copy)


def test_the_card_page_has_a_linked_section_for_every_file():
    page = (ROOT / "configs/results/cards.md").read_text()
    titles = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert titles == manifest.list_weights()
    assert "](figures/image_changes.png)" in page
    # GitHub makes these anchors from titles.
    anchors = [re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles]
    assert re.findall(r"^\| \[.*?\]\(#(.*?)\)", page, re.MULTILINE) == anchors
    assert len(re.findall(r"^### Limits$", page, re.MULTILINE)) == len(titles)


@pytest.mark.parametrize("name", ["README.md", "configs/results/cards.md"])
def test_the_licence_is_quoted_word_for_word(name):
    text = " ".join((ROOT / name).read_text().split())
    assert text.count(card.LICENCE) == 1
