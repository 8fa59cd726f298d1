"""Table of published weights, with a row per recipe and a column per activation."""

from collections import defaultdict
from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights import manifest
from elu_zoo.weights.manifest import Entry
from pages import marks, runs

_ACTIVATIONS = "elu", "relu", "leaky_relu", "shifted_relu"
_SAME = "config", "model", "dataset", "batch_norm", "schedule", "epochs"
_NOTE = (
    "The table has test errors after the last step, of weights rounded to float16. "
    "Errors with ± are means and standard deviations over seeds, with the number of "
    "runs in brackets; the file is from one of these runs. Runs with `no file` were "
    "measured, but the package does not have their weights. Only rows with the "
    "paper's schedule, or that of the network's authors, have the paper's number. "
    "Compare activations within a row only. [Model cards of all files]({cards}), "
    "[all runs]({runs})."
)


def table(
    published: Sequence[Entry],
    rows: runs.Rows,
    paper: runs.Rows,
    networks: Sequence[str],
    link: marks.Link,
) -> str:
    """Returns a Markdown table of the errors of published weights.

    Args:
        published: entries of the weight files.
        rows: rows of results.csv.
        paper: rows of paper.csv.
        networks: names of the registered networks.
        link: function that makes links relative to the page.
    """
    groups: dict[tuple, dict[str, Entry]] = defaultdict(dict)
    for entry in sorted(published, key=_order):
        activation = entry["arguments"]["activation"]["name"]
        groups[_recipe(entry)].setdefault(activation, entry)
    others = {a for group in groups.values() for a in group} - {*_ACTIVATIONS}
    activations = [*_ACTIVATIONS, *sorted(others)]
    lines = [
        f"| network | data | {' | '.join(activations)} | schedule | the paper's |",
        "|---" * (len(activations) + 4) + "|",
    ]
    for group in groups.values():
        first = next(iter(group.values()))
        name = f"`{first['model']}`"
        name += " + batch norm" if first["arguments"]["batch_norm"] else ""
        cells = [
            _error(group[a], rows) if a in group else _unshipped(first, a, rows)
            for a in activations
        ]
        lines.append(
            f"| {name} | {first['dataset']} | {' | '.join(cells)} | "
            f"{_schedule(first)} | {_papers_errors(group, paper)} |"
        )
    pages = {name: link(f"configs/results/{name}.md") for name in ("cards", "runs")}
    available = {entry["model"] for entry in published}
    without = [f"`{name}`" for name in networks if name not in available]
    last = f" No weights yet: {', '.join(without)}." if without else ""
    return "\n".join([*lines, "", _NOTE.format(**pages) + last])


def _order(entry: Entry) -> tuple:
    """Returns a sort key that puts default weights in the first row of a data set."""
    return entry["model"], entry["dataset"], manifest.rank(entry)


def _recipe(entry: Entry) -> tuple:
    keys = "model", "dataset", "schedule", "epochs", "schedule_share"
    return *(entry[key] for key in keys), entry["arguments"]["batch_norm"]


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
    theirs = "its paper's" + in_full
    whose = f"our `{entry['schedule']}`" if ours else theirs
    return runs.schedule(entry | {"schedule": whose})


def _papers_errors(group: dict[str, Entry], paper: runs.Rows) -> str:
    """Returns the paper's errors for a row, or "" if the recipe is not the paper's."""
    errors = {a: results.paper_error(entry, paper) for a, entry in group.items()}
    numbers = {a: error.value for a, error in errors.items() if error}
    if not numbers:
        return ""
    texts = [f"{a} {value}" for a, value in numbers.items() if value[0].isdigit()]
    return ", ".join(texts) or "no number"
