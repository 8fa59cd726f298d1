"""Text tables on a terminal, in a file or in a pipe."""

import sys

from elu_zoo import errors

_UNBOUNDED = 100_000  # columns


def show(rows: list[dict[str, str]]) -> None:
    """Prints rows as a table, headed by the keys of the first row, which has all.

    Cells are wrapped to a terminal's width; in a file or pipe a row is one line.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        # rich would read the file name [bold].png as markup.
        table.add_row(*(escape(errors.printable(row.get(name, ""))) for name in rows[0]))
    width = None if sys.stdout.isatty() else _UNBOUNDED
    Console(width=width, emoji=False).print(table)
