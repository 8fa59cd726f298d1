"""Figure of the README: test errors by activation, with lines between paired runs."""

from pathlib import Path

from elu_zoo.pairs import grouping, plots
from pages import runs

COLUMNS = "config", "activation", "seed", "epochs", "test_error_percent"
_ACTIVATIONS = "elu", "relu", "leaky_relu", "shifted_relu", "prelu"
START = "elu_cifar_11-cifar100-paper10"  # the first epochs of the paper's schedule
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
