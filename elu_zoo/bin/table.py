"""Rows of text as a table on the terminal, or in a file or pipe."""

import sys

from elu_zoo import errors

_UNBOUNDED = 100_000  # columns


def show(rows: list[dict[str, str]]) -> None:
    """Prints rows of equal keys; the keys are the table's head.

    Cells are wrapped to a terminal's width; elsewhere each row is one line, in which
    grep finds a file's name whole.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        # A file may be named [bold].png.
        table.add_row(*(escape(errors.printable(cell)) for cell in row.values()))
    width = None if sys.stdout.isatty() else _UNBOUNDED
    Console(width=width).print(table)
