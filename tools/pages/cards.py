"""cards.md: a table of the published weights, and a model card for each."""

import re

from elu_zoo import results
from elu_zoo.weights import card, manifest
from pages import changes, runs

_HEAD = f"""# Model cards

`python tools/results_table.py` writes this page from the entries beside the weights and
from [results.csv](results.csv); `elu_zoo.model_card(tag)` prints the same cards. "This
file" is the test error of the weight file with Wilson's 95 % interval for other test
images. "Its recipe" is the mean ± standard deviation over runs that differ only in the
seed, with Student's 95 % interval of the mean. The paper's number is in the table if
the recipe is the paper's.

{card.LICENCE}
"""
_TABLE = """
| weights | this file | its recipe | the paper | schedule | size |
|---|---|---|---|---|---|"""


def page(rows: runs.Rows, paper: runs.Rows, changed: runs.Rows) -> str:
    """Returns cards.md, from rows of results.csv, paper.csv and image_changes.csv."""
    published = [manifest.published()[tag] for tag in manifest.list_weights()]
    # The cards are made before the table, because making them checks the entries.
    sections = [re.sub("(?m)^#", "##", card.text(e, rows)) for e in published]
    lines = []
    for entry in published:
        tag, file = entry["tag"], results.file_error(entry)
        recipe = results.recipe_error(entry, rows)
        theirs = results.paper_error(entry, paper)
        lines.append(
            f"| [{tag}](#{anchor(tag)}) | {_cell(file)} | {_cell(recipe)} "
            f"| {theirs.value if theirs else ''} "
            f"| {runs.schedule(entry)} | {entry['bytes'] / 1e6:.1f} MB |"
        )
    figure = "![Test error under five changes of images](figures/image_changes.png)"
    head = [_HEAD, figure, "", changes.caption(changed), _TABLE]
    return "\n".join([*head, *lines, "", *sections])


def anchor(tag: str) -> str:
    """Returns the anchor that GitHub makes from the title of a card."""
    return tag.lower().replace(".", "")


def _cell(error: results.ErrorLine) -> str:
    return f"{error.value} ({error.interval})" if error.interval else error.value
