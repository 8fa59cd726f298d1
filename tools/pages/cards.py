"""The page of model cards: a table of the published weights, and a card of each."""

import re

from elu_zoo import results
from elu_zoo.weights import cards, manifest
from pages import runs

_HEAD = f"""# Model cards

Written by `python tools/results_table.py` from the entries beside the weights and from
[results.csv](results.csv), as `elu_zoo.model_card(tag)` prints them. "This file" is the
error of a file's weights on the test images and Wilson's 95 % interval, for the draw of
those images; "its recipe" is the mean ± standard deviation of all runs that differ by
the seed alone and Student's 95 % interval of the mean, for the draw of the seeds. The
paper's number is there where the recipe is the paper's.

{cards.LICENCE}

| weights | this file | its recipe | the paper | schedule | size |
|---|---|---|---|---|---|"""


def page(rows: runs.Rows, paper: runs.Rows) -> str:
    """Returns cards.md."""
    published = [manifest.published()[tag] for tag in manifest.list_weights()]
    # A card's title is a section of this page. Made first: they check the entries.
    sections = [re.sub("(?m)^#", "##", cards.text(e, rows)) for e in published]
    lines = []
    for entry in published:
        tag, file = entry["tag"], results.of_file(entry)
        recipe = results.of_recipe(entry, rows)
        theirs = results.of_paper(entry, paper)
        lines.append(
            f"| [{tag}](#{anchor(tag)}) | {_cell(file)} | {_cell(recipe)} "
            f"| {theirs.value if theirs else ''} "
            f"| {runs.schedule(entry)} | {entry['bytes'] / 1e6:.1f} MB |"
        )
    return "\n".join([_HEAD, *lines, "", *sections])


def anchor(tag: str) -> str:
    """Returns the address of a card in its page, as GitHub makes it."""
    return tag.lower().replace(".", "")


def _cell(found: results.Measured) -> str:
    return f"{found.value} ({found.interval})" if found.interval else found.value
