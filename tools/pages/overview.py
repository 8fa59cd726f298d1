"""Figure of the README: test errors by activation, with lines between paired runs."""

from pathlib import Path

from elu_zoo.pairs import grouping, plots, statistics
from pages import runs

COLUMNS = "config", "activation", "seed", "epochs", "test_error_percent"
_ACTIVATIONS = "elu", "relu", "leaky_relu", "shifted_relu", "prelu"
_REPORT = "configs/results/reproduction.md#figure-4-four-units-on-cifar-100"
WHOLE = "elu_cifar_11-cifar100"  # the paper's whole schedule
START = f"{WHOLE}-paper10"  # its first epochs
_PANELS = {
    "mnist_mlp_8x128": "MNIST, 8 hidden layers:\nthe paper's {epochs} epochs, {seeds}",
    START: "CIFAR-100, 11 convolutional layers:\nfirst {epochs} of the paper's 330 epochs, {seeds}",
}


def points(rows: runs.Rows) -> runs.Rows:
    """Returns the rows of the figure, sorted by panel, activation and seed."""
    panels = list(_PANELS)
    shown = [
        {column: row[column] for column in COLUMNS}
        for row in rows
        if row["config"] in panels
        and row["activation"] in _ACTIVATIONS
        and row["batch_norm"] == "False"
        and (row["config"] == START or float(row["schedule_share"]) == 1)
    ]

    def key(row):
        return panels.index(row["config"]), _ACTIVATIONS.index(row["activation"]), int(row["seed"])

    return sorted(shown, key=key)


def caption(rows: runs.Rows, paper: runs.Rows) -> str:
    """Returns what runs show at the start and the end of the paper's schedule."""
    first, *_ = shown = [row for row in points(rows) if row["config"] == START]
    errors: dict[str, dict[str, float]] = {row["activation"]: {} for row in shown}
    for row in shown:
        errors[row["activation"]][row["seed"]] = float(row["test_error_percent"])
    elu, texts = errors.pop("elu"), []
    for name, others in errors.items():
        own = [elu[seed] for seed in others]
        found = statistics.paired_interval(list(others.values()), own)
        interval = f"{found.low:.1f} to {found.high:.1f}"
        texts.append(f"{found.mean:.1f} points ({interval}) with {name}")
    return (
        "The figure shows test errors of paired runs: a marker is a run, a thin line "
        "joins the runs of one seed, and a short line is a mean. On the right is the "
        f"start of the paper's schedule on CIFAR-100: after {first['epochs']} epochs "
        f"ELU is at {runs.spread(list(elu.values()))} %, {len(elu)} runs. Runs of "
        f"the same seeds are higher, with 95 % intervals, by {', '.join(texts)}. "
        f"{_ends(rows, paper)}[The runs and their command]({_REPORT})."
    )


def _ends(rows: runs.Rows, paper: runs.Rows) -> str:
    """Returns a sentence on errors after the whole schedule, beside the paper's."""
    texts = []
    for name in _ACTIVATIONS:
        arm = WHOLE, name, "False", 1.0
        keys = "config", "activation", "batch_norm"
        found = [r for r in rows if (*(r[k] for k in keys), float(r["schedule_share"])) == arm]
        if found and (papers := runs.papers_error(found, paper)):
            count = f"{len(found)} runs" if len(found) > 1 else "1 run, no interval"
            texts.append(f"{name} {runs.error(found)} ({count}; the paper: {papers})")
    return f"At the end of the whole schedule: {', '.join(texts)}. " * bool(texts)


def draw(rows: runs.Rows, stem: Path) -> None:
    """Draws the figure from rows of results.csv; `stem` has no suffix."""
    frame = grouping.frame(points(rows))
    with plots.figure(stem, [len(_PANELS)], 3.2) as [row]:
        for axes, (config, title) in zip(row, _PANELS.items(), strict=True):
            shown = frame[frame["config"] == config]
            plots.paired(axes, shown, "test_error_percent")
            count = shown["seed"].nunique()
            seeds = "one seed" if count == 1 else f"{count} seeds"
            title = title.format(epochs=shown["epochs"].iloc[0], seeds=seeds)
            axes.set(title=title, ylabel="test error, %")
