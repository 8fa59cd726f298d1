"""Marks of README.md files: pairs of comments around generated text."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from elu_zoo import errors

BEGIN = "<!-- {}: begin (tools/results_table.py) -->"
END = "<!-- {}: end -->"
_MARK = re.compile(r"<!-- (\w+): (?:(begin) \(tools/results_table\.py\)|end) -->")

Link = Callable[[str], str]  # from a path in the repository to a link on a page
Content = Callable[[Link], str]


def readmes(root: Path) -> list[Path]:
    """Returns the README.md files of a repository, sorted by path.

    Folders in .gitignore, hidden folders and virtual environments are skipped.
    """
    lines = (root / ".gitignore").read_text().split()
    ignored = {line.strip("/") for line in lines if line.endswith("/")}
    return sorted(_walk(root, ignored))


def _walk(root: Path, ignored: set[str]) -> Iterator[Path]:
    for folder, inside, names in os.walk(root):
        inside[:] = [
            name
            for name in inside
            if not (name.startswith(".") or name in ignored)
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        if "README.md" in names:
            yield Path(folder, "README.md")


def fill(texts: Mapping[str, str], contents: Mapping[str, Content]) -> dict[str, str]:
    """Returns the pages that have marks, with new text between the marks.

    Args:
        texts: texts of pages by path in the repository, such as "configs/README.md".
        contents: functions that make the text between marks, by the name of the marks.

    Raises:
        UsageError: a mark is unknown, has no end, or is not in exactly one page.
    """
    page_of: dict[str, str] = {}
    filled = {}
    for page, text in texts.items():
        names = _names(page, text, contents)
        for name in names:
            if name in page_of:
                raise errors.UsageError(
                    f"The mark {name!r} is in {page_of[name]} and in {page}. Remove one of them."
                )
            page_of[name] = page
            text = replace_between(text, name, contents[name](link_from(page)))
        if names:
            filled[page] = text
    for name in contents.keys() - page_of.keys():
        raise errors.UsageError(
            f"No README.md has the mark {name!r}. Put the lines {BEGIN.format(name)} "
            f"and {END.format(name)} into the page for this text."
        )
    return filled


def _names(page: str, text: str, contents: Mapping[str, Content]) -> list[str]:
    """Returns the names of a page's marks, after checking them."""
    marks = [(m[1], bool(m[2])) for m in _MARK.finditer(text)]
    for name, _ in marks:
        if name not in contents:
            raise errors.unknown_name_error(f"mark in {page}", name, contents)
    names = [name for name, begins in marks if begins]
    if marks != [mark for name in names for mark in ((name, True), (name, False))]:
        raise errors.UsageError(
            f"The marks of {page} must be pairs of {BEGIN.format('name')} and "
            f"{END.format('name')}. Received, in this order: "
            f"{', '.join(name + (' begin' if b else ' end') for name, b in marks)}."
        )
    return names


def replace_between(text: str, name: str, content: str) -> str:
    """Returns a text with `content` between the marks called `name`."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def link_from(page: str) -> Link:
    """Returns a function that makes links on `page` to paths in the repository."""
    folder = PurePosixPath(page).parent
    return lambda target: Path(os.path.relpath(target, folder)).as_posix()
