"""Table of training runs with whole schedules, in results.md."""

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from elu_zoo import results
from elu_zoo.data import catalog
from elu_zoo.pairs import tables
from elu_zoo.weights import manifest

Rows = list[results.Row]

# Fine-tuned networks have another table, other depths a figure.
_ELSEWHERE = re.compile("finetune-|mnist_depth-")
_ORDER = "elu relu leaky_relu shifted_relu prelu rrelu".split()
_TITLES = "config,data,activation,runs,test error,the paper's,training loss,schedule".split(",")


def table(rows: Rows, paper: Rows) -> str:
    """Returns a Markdown table of whole schedules by config, data and activation."""
    groups: dict = defaultdict(dict)
    for row in rows:
        if not _ELSEWHERE.match(row["config"]) and float(row["schedule_share"]) == 1:
            name, config = row["activation"], tuple(manifest.natural(row["config"]))
            key = config, row["dataset"], row["batch_norm"], [*_ORDER, name].index(name), name
            groups[key][row["seed"]] = row  # of two machines, the last
    lines = []
    for (_, dataset, batch_norm, _, name), by_seed in sorted(groups.items()):
        runs = [*by_seed.values()]
        name += " + batch norm" * (batch_norm == "True")
        schedules = " / ".join(sorted({schedule(run) for run in runs}))
        loss = f"{statistics.mean(float(r['train_loss']) for r in runs):.3g}"
        errors = error(runs), papers_error(runs, paper)
        lines.append((runs[0]["config"], dataset, name, len(runs), *errors, loss, schedules))
    return tables.markdown(_TITLES, lines)


def error(runs: Rows) -> str:
    """Returns the test error of runs as text: the result of `results.spread`, and the unit."""
    if runs[0].get("test_squared_error"):
        return results.spread([float(r["test_squared_error"]) for r in runs]) + ", squared"
    trained = [float(r["test_error_percent"]) for r in runs if beats_chance(r)]
    parts = [f"{results.spread(trained)} %"] if trained else []
    left_out = f"{len(runs) - len(trained)} at chance, not trained"
    return "; ".join([*parts, left_out] if len(trained) < len(runs) else parts)


def beats_chance(run: Mapping[str, Any]) -> bool:
    """Whether the test error of a run is clearly below that of guessing."""
    entry = catalog.ENTRIES.get(run.get("dataset", ""))
    error = float(run["test_error_percent"])
    return results.beats_chance(error, entry.num_classes if entry else 0)


def schedule(run: Mapping[str, Any]) -> str:
    """Returns the schedule, epochs and schedule share of a run or an entry, as text."""
    share = float(run["schedule_share"])
    part = f" ({share:.0%} of it)" if share < 1 else ""
    return f"{run['schedule']}, {run['epochs']} epochs{part}"


def papers_error(runs: Rows, paper: Rows) -> str:
    """Returns the paper's error if all runs have the whole paper schedule, else ""."""
    if any((r["schedule"], float(r["schedule_share"])) != ("paper", 1) for r in runs):
        return ""
    row = results.paper_row(runs[0], paper)
    return results.published_error(row) if row else ""
