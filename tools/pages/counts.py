"""Counts of claims of the paper that hold, and of survived faults."""

from elu_zoo.paper import judging
from pages import marks, runs

_REPORT = "configs/results/reproduction.md"


def tally(claims: runs.Rows, link: marks.Link) -> str:
    """Returns a line with the number of claims that hold."""
    own = [row["verdict"] for row in claims if row["whose"] == "the paper's"]
    holds, fails, open_ = (own.count(verdict) for verdict in judging.VERDICTS)
    return (
        f"Of {len(own)} claims of the paper that can be measured, {holds} hold, "
        f"{fails} do not hold and {open_} are not decided at our budget, which on "
        "CIFAR-100 is 3 epochs of our own schedule: "
        f"[each of them]({link(_REPORT)}#the-claims-one-by-one)."
    )


def survived(rows: runs.Rows) -> str:
    """Returns the counts of reliability.csv in Markdown, one line per fault."""
    counts: dict[str, dict[str, list[int]]] = {}
    for row in rows:
        what = row["what"].partition(", ")[0]  # without the kind of run
        found = counts.setdefault(row["fault"], {}).setdefault(what, [0, 0])
        found[0] += int(row["as_promised"])
        found[1] += int(row["tried"])
    return "\n".join(
        f"- **{fault}**: "
        + "; ".join(f"{what} {good} of {tried}" for what, (good, tried) in of.items())
        for fault, of in counts.items()
    )
