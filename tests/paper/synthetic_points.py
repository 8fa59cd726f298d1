"""Points of experiments that nobody ran, in a world as the paper's or in its opposite.

Rows are as `Points` has them after reading its file: texts, every column there.
"""

import functools
import zlib
from pathlib import Path

import numpy as np

from elu_zoo import results
from elu_zoo.paper import views
from elu_zoo.paper.claims import CLAIMS
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.run.spec import Plan

# The experiments with runs that decide claims, and those claims.
TRAINED = "fig2", "fig3", "fig4", "fig5", "fig7", "depth", "noise", "theory"
# Claims of the paper's own schedules, weeks on a GPU: nothing here decides them.
OPEN = {
    "elu-network-ranks",
    *("cifar-10-elu-network-reaches-6.55", "cifar-100-elu-network-reaches-24.28"),
    *("cifar100-elu-reaches-28.75", "cifar100-shifted_relu-reaches-29.35"),
    *("cifar100-leaky_relu-reaches-30.59", "cifar100-relu-reaches-31.56"),
    "cifar100-elu-gains-from-another-schedule",
    "imagenet-elu-starts-earlier",
    *("imagenet-elu-reaches-20-percent-first", "imagenet-elu-below-10-percent"),
    # Measured over layers, which differ by their depth, too.
    *(f"theory-shift-of-correlated-units-{u}" for u in ("elu", "relu", "leaky_relu")),
}
DECIDED = [
    claim.name
    for claim in CLAIMS
    if claim.experiment in TRAINED and claim.name not in OPEN
]
FULL = Plan("full", None, None, Path("runs"), imagenet="pictures")
# The paper's order, the best first; with batch norm after the +.
ORDER = (
    *("elu", "elu+bn", "shifted_relu", "shifted_relu+bn", "leaky_relu+bn"),
    *("leaky_relu", "relu+bn", "prelu", "relu"),
)
# What a row says of the place of its numbers, and not of the unit.
PLACES = "epoch", "step", "layer", "sigma", "hidden_layers"
_EPOCHS = *range(27), 50, 60
_VECTORS = "variance_of_changes", "variance_of_medians"
_OF_OUTPUTS = "changed", "probability_noise"
_OF_THE_END = "test_loss", "test_error_percent"


def never(row, column):
    """The world of the paper."""
    return False


def always(row, column):
    """Its opposite: the best is the worst."""
    return True


def view(name, plan=FULL, turned=never):
    """Returns what figures, tables and claims of an experiment are made from."""
    rows = {need: points(need, plan, turned) for need in views.needs(name)}
    return views.View(plan.budget, rows)


def write(name, output, plan=FULL, turned=never, diverged=()):
    """Writes the files of points that an experiment needs.

    Args:
        name: of the table.
        output: the folder that `reproduce` is given.
        plan: see `points`.
        turned: see `points`.
        diverged: activations and seeds whose runs diverged; not of what is read.

    What it reads is not written again.
    """
    for need in views.needs(name):
        path = output / views.FIGURES / f"{need}.csv"
        if need != name and path.exists():
            continue
        gone = set(diverged) if need == name else set()
        rows = [r for r in points(need, plan, turned) if _run(r) not in gone]
        if rows:
            results.write(path, list(rows[0]), rows)
        found = views.points(need, output)
        for trial in EXPERIMENTS[need].trials(plan):
            if (trial.activation, trial.seed) in gone:
                found.put(trial, [{"diverged": "it ended in nan"}])


def _run(row):
    return row["activation"], int(row["seed"])


def at_chance(rows, activation, seeds, error="99"):
    """Gives runs of a unit the error of guessing among a hundred classes."""
    for row in rows:
        if row["activation"] == activation and int(row["seed"]) in seeds:
            row["test_error_percent"] = row["test_error_percent"] and error


def points(name, plan=FULL, turned=never):
    """Returns the rows of an experiment with runs.

    Args:
        name: of the table.
        plan: which runs there are.
        turned: says of a row and column whether it is of the opposite world; rows have
            a key more, "last", of a run's last row.
    """
    columns = EXPERIMENTS[name].columns
    rows = []
    for key in _keys(name, plan):
        places, level = _places(columns, key), _level(key)
        for place in places:
            row = key | {c: place.get(c, "") for c in columns}
            row["last"] = place is places[-1]
            for column in columns:
                if column not in (*PLACES, "diverged") and _is_measured(column, row):
                    row[column] = _cell(row, column, level, turned(row, column))
            del row["last"]
            rows.append(row)
    return rows


@functools.cache  # a key has the hash of its config
def _keys(name, plan):
    return [trial.key for trial in EXPERIMENTS[name].trials(plan)]


def _level(key):
    """Returns how good a run is in the world of the paper; lower is better."""
    unit = key["activation"] + "+bn" * (key["batch_norm"] == "True")
    found = 1 + ORDER.index(unit) / 2 if unit in ORDER else 5.2
    if key["variant"].startswith("lr "):  # the higher, the better
        found -= 0.05 * np.log10(float(key["variant"][3:]))
    text = f"{unit} {key['variant']} {key['seed']}"
    return found + zlib.crc32(text.encode()) / 2**32 / 50


def _places(columns, key):
    if "sigma" in columns:
        sigmas, layers = ("0.03", "0.1", "0.3"), ("dense1", "dense2", "logits")
        return [{"sigma": s, "layer": layer} for s in sigmas for layer in layers]
    if "layer" in columns:
        return [{"layer": layer} for layer in ("dense1", "dense2")]
    if "step" in columns:
        return [{"step": str(100 * i), "epoch": str(i)} for i in range(1, 7)]
    if "epoch" in columns:
        return [{"epoch": str(epoch)} for epoch in _EPOCHS]
    return [{"hidden_layers": key["variant"][:2].lstrip("0")}]


def _is_measured(column, row):
    """Whether a run measures it there, as the functions `measure` do."""
    if "sigma" in row:
        outputs = column in _OF_OUTPUTS
        of_both = column == "relative_noise"
        return of_both or outputs == (row["layer"] == "logits")
    if column in _OF_THE_END and "step" not in row:
        return row["last"]
    # Before the first epoch there is no loss.
    return column == "median_activation" or not (
        row.get("epoch") == "0" and "train_loss" in row
    )


def _cell(row, column, level, turned):
    value = 6.5 - level if turned else level
    value *= 1 + zlib.crc32(column.encode()) % 1000 / 1000  # no two columns are alike
    if column in _VECTORS:
        return " ".join(f"{value * unit:.6g}" for unit in (1, 2, 4))
    if column in ("positive_share", "rank_correlation"):
        return "-0.1" if turned else "0.9"
    if column == "cosine":  # the higher, the better
        return f"{1 - value / 20:.6g}"
    if column == "k":
        return f"{1 - value / 20 if turned else 1 + value:.6g}"
    if column == "median_activation" and row["activation"] == "elu":
        value = -value  # below all others; nearer to zero, or not
    if column.endswith("_loss") and row.get("epoch"):
        epoch = int(row["epoch"])  # it falls, the lower the sooner, and stays; or rises
        rise = turned * max(0, epoch - 25) / 25
        value *= (
            2e-5 + np.exp(-epoch / (0.4 * (6.5 - level if turned else level))) + rise
        )
    return f"{value:.6g}"
