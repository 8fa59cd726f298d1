"""Texts of the front page README.md, and of the guides, README.md files in folders."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = (
    "README.md",
    "elu_zoo/README.md",
    "elu_zoo/models/README.md",
    "elu_zoo/training/README.md",
    "elu_zoo/export/README.md",
    "configs/README.md",
)
TEXTS = {n: (ROOT / n).read_text() for n in NAMES if (ROOT / n).is_file()}
_FENCE = re.compile(r"^``` ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Language and content of every code block.
FENCES = [pair for text in TEXTS.values() for pair in _FENCE.findall(text)]


def prose(text: str) -> str:
    """Returns a Markdown text without code blocks."""
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub makes of a Markdown text's headings."""
    titles = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}
