"""The README.md files of a user: the front page, and the guides of four folders."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# In the order in which they are read.
NAMES = (
    "README.md",
    "elu_zoo/models/README.md",
    "elu_zoo/training/README.md",
    "elu_zoo/export/README.md",
    "configs/README.md",
)
TEXTS = {n: (ROOT / n).read_text() for n in NAMES if (ROOT / n).is_file()}
_FENCE = re.compile(r"^``` ?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Kind and content of every block of code.
FENCES = [pair for text in TEXTS.values() for pair in _FENCE.findall(text)]


def prose(text: str) -> str:
    """Returns a Markdown text without its blocks of code."""
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """Returns the addresses of a Markdown text's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}
