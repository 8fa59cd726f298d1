"""Rows of text as a table on the terminal."""


def show(rows: list[dict[str, str]]) -> None:
    """Prints rows of equal keys; the keys are the table's head."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        # A file may be named [bold].png.
        table.add_row(*map(escape, row.values()))
    Console().print(table)
