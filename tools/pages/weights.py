"""Published weights: the table of README.md, and the table and cards of results.md."""

import re
from collections import defaultdict
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.pairs import tables
from elu_zoo.weights import card, manifest
from elu_zoo.weights.manifest import Entry
from pages import runs

_ACTIVATIONS = "elu", "relu", "leaky_relu", "shifted_relu"
_SAME = "config", "model", "dataset", "batch_norm", "schedule", "epochs"
_RECIPE = "model", "dataset", "schedule", "epochs", "schedule_share"
_TITLES = "weights", "this file", "its recipe", "the paper", "schedule", "size"


def files_table(published: Sequence[Entry], rows: runs.Rows, paper: runs.Rows) -> str:
    """Returns a Markdown table with a row for each weight file."""
    lines = []
    for entry in published:
        link = f"[{entry['tag']}](#{entry['tag'].lower().replace('.', '')})"
        errors = results.file_error(entry), results.recipe_error(entry, rows)
        cells = [f"{e.value} ({e.interval})" if e.interval else e.value for e in errors]
        theirs = results.paper_error(entry, paper)
        size = f"{entry['bytes'] / 1e6:.1f} MB"
        value = theirs.value if theirs else ""
        lines.append((link, *cells, value, runs.schedule(entry), size))
    return tables.markdown(_TITLES, lines)


def cards(published: Sequence[Entry], rows: runs.Rows) -> str:
    """Returns the model cards as sections of level 3."""
    return "\n".join(re.sub("(?m)^#", "###", card.text(e, rows)) for e in published)


def missing(published: Sequence[Entry], networks: Sequence[str]) -> str:
    """Returns a sentence on the networks without weights, "" without such networks."""
    available = {entry["model"] for entry in published}
    without = [f"`{name}`" for name in networks if name not in available]
    return f"No weights yet: {', '.join(without)}. " if without else ""


def table(published: Sequence[Entry], rows: runs.Rows, paper: runs.Rows) -> str:
    """Returns a Markdown table of errors: a row per recipe, a column per activation.

    Args:
        published: entries of the weight files.
        rows: rows of results.csv.
        paper: rows of paper.csv.
    """
    groups: dict[tuple, dict[str, Entry]] = defaultdict(dict)
    # Default weights are in the first row of a data set.
    for entry in sorted(published, key=lambda e: (e["model"], e["dataset"], manifest.rank(e))):
        arguments = entry["arguments"]
        recipe = *(entry[key] for key in _RECIPE), arguments["batch_norm"]
        groups[recipe].setdefault(arguments["activation"]["name"], entry)
    others = {a for group in groups.values() for a in group} - {*_ACTIVATIONS}
    activations, lines = [*_ACTIVATIONS, *sorted(others)], []
    for group in groups.values():
        first = next(iter(group.values()))
        name = f"`{first['model']}`" + " + batch norm" * first["arguments"]["batch_norm"]
        cells = [
            _error(group[a], rows) if a in group else _unshipped(first, a, rows)
            for a in activations
        ]
        theirs = _papers_errors(group, paper)
        lines.append((name, first["dataset"], *cells, _schedule(first), theirs))
    titles = ["network", "data", *activations, "schedule", "the paper's"]
    return tables.markdown(titles, lines)


def _error(entry: Entry, rows: runs.Rows) -> str:
    metric = results.metric(entry)
    found, classes = results.find_runs(entry, rows), len(entry.get("classes", ()))
    found = [r for r in found if results.is_trained(float(r[metric]), classes)]
    return _text(metric, found if len(found) > 1 else [entry["metrics"]])


def _text(metric: str, measured: runs.Rows) -> str:
    """Returns the mean of a metric over runs as text, with the number of runs."""
    values = [float(run[metric]) for run in measured]
    unit = "squared error" if metric == results.SQUARED else "%"
    return f"{runs.spread(values)} {unit}" + f" ({len(values)})" * (len(values) > 1)


def _unshipped(entry: Entry, activation: str, rows: runs.Rows) -> str:
    """Returns the error of the runs of an entry's recipe that have no weight file."""
    own = results.find_runs(entry, rows)
    found = [
        row
        for row in rows
        if own and all(row[key] == own[0][key] for key in _SAME)
        if row["activation"] == activation
    ]
    return f"{_text(results.metric(entry), found)} (`no file`)" if found else ""


def _schedule(entry: Entry) -> str:
    ours = entry["schedule"] != "paper"
    in_full = " in full" * (entry["schedule_share"] == 1)
    whose = f"our `{entry['schedule']}`" if ours else f"its paper's{in_full}"
    return runs.schedule(entry | {"schedule": whose})


def _papers_errors(group: dict[str, Entry], paper: runs.Rows) -> str:
    """Returns the paper's errors for a row, or "" if the recipe is not the paper's."""
    errors = {a: results.paper_error(entry, paper) for a, entry in group.items()}
    numbers = {a: error.value for a, error in errors.items() if error}
    if not numbers:
        return ""
    texts = [f"{a} {value}" for a, value in numbers.items() if value[0].isdigit()]
    return ", ".join(texts) or "no number"
