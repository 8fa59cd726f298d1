"""Published weights: the table of README.md, and the table and cards of results.md."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from elu_zoo import registry, results
from elu_zoo.pairs import tables
from elu_zoo.weights import card, manifest
from elu_zoo.weights.manifest import Entry
from pages import runs

_WEIGHTS = "network", "data", "default", "test error", "recipe", "number of files"
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
    return f"No weights yet: {', '.join(without)}." if without else ""


def table(published: Sequence[Entry], rows: runs.Rows) -> str:
    """Returns a Markdown table with a row for each network and data set of weight files."""
    groups = defaultdict(list)
    for entry in sorted(published, key=lambda e: (e["model"], e["dataset"], manifest.rank(e))):
        groups[entry["model"], entry["dataset"]].append(entry)
    lines = []
    for (model, dataset), entries in groups.items():
        own = registry.entry(model).default("activation")
        units = [manifest.variant(entry["arguments"]) for entry in entries]
        i = units.index(own) if own in units else 0
        files = ", ".join(f"{name} {n}" for name, n in Counter(units).items())
        cells = units[i], _error(entries[i], rows), _schedule(entries[i]), files
        lines.append((f"`{model}`", dataset, *cells))
    return tables.markdown(_WEIGHTS, lines)


def _error(entry: Entry, rows: runs.Rows) -> str:
    """Returns the mean error of an entry's recipe as text, with the number of runs."""
    metric = results.metric(entry)
    found = results.find_runs(entry, rows)
    found = [r for r in found if metric == results.SQUARED or runs.beats_chance(r)]
    measured = found if len(found) > 1 else [entry["metrics"]]
    unit = "squared error" if metric == results.SQUARED else "%"
    text = results.spread([float(run[metric]) for run in measured])
    return f"{text} {unit}" + f" ({len(measured)} runs)" * (len(measured) > 1)


def _schedule(entry: Entry) -> str:
    whose = "its paper's" + " in full" * (entry["schedule_share"] == 1)
    whose = whose if entry["schedule"] == "paper" else f"our `{entry['schedule']}`"
    return runs.schedule(entry | {"schedule": whose})
