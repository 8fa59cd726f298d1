"""Counts: claims by verdict, faults that training survived, digits misread."""

from elu_zoo.paper.claims import VERDICTS
from pages import marks, runs

_REPORT = "configs/results/reproduction.md"


def tally(claims: runs.Rows, link: marks.Link) -> str:
    """Returns a line with the number of the paper's claims that got each verdict."""
    judged = [row["verdict"] for row in claims]
    counts = ", ".join(
        f"{judged.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in judged
    )
    return (
        f"Of {len(judged)} claims of the paper: {counts}. "
        f"[Each with its tests]({link(_REPORT)}#the-papers-claims)."
    )


def reliability(rows: runs.Rows) -> str:
    """Returns the counts of reliability.csv as a Markdown list, one line per fault."""
    counts: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        what = row["what"].partition(", ")[0]  # without the kind of run
        count = counts.setdefault(row["fault"], {}).setdefault(what, [0, 0])
        count[0] += int(row["as_promised"])
        count[1] += int(row["tried"])
    return "\n".join(
        f"- **{fault}**: "
        + "; ".join(f"{what} {good} of {tried}" for what, (good, tried) in of.items())
        for fault, of in counts.items()
    )


def digits(rows: runs.Rows) -> str:
    """Returns a sentence with the errors of digits.csv, of the first network."""
    network = rows[0]["network"]
    errors: dict[str, list[str]] = {}
    for row in rows:
        if row["network"] == network:
            name = f"{row['pictures']} ({int(row['images']):,} pictures)"
            errors.setdefault(name, []).append(f"{row['way']} {row['error_percent']} %")
    listed = "; ".join(f"{name}: {', '.join(cells)}" for name, cells in errors.items())
    return (
        f"Errors of `{network}`, by `tools/read_digits.py`: {listed}. Drawn are five "
        "printed fonts, dark on white, at any place; photographed adds shading, noise "
        "and a dark table; moved is by up to 6 pixels."
    )
