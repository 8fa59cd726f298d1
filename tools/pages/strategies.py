"""Table of runs by several strategies, in speed.md."""

from collections.abc import Sequence

from elu_zoo import results
from elu_zoo.weights import manifest
from pages import cards

_COLUMNS = {
    ("one", "tensorflow"): "one device",
    ("mirrored", "tensorflow"): "`mirrored`, two devices",
    ("multi_worker", "tensorflow"): "`multi_worker`, two processes",
    ("one", "jax"): "JAX",
}


def table(rows: Sequence[results.Row]) -> str:
    """Returns the rows of strategies.csv in Markdown, with the largest differences."""
    runs: dict[tuple, dict[tuple, results.Row]] = {}
    for row in rows:
        of_seed = runs.setdefault((row["config"], row["epochs"], row["seed"]), {})
        of_seed[row["strategy"], row["backend"]] = row
    lines = [f"| config | seed | {' | '.join(_COLUMNS.values())} |", "|---" * 6 + "|"]
    losses, errors = [0.0], [0.0]
    for (config, epochs, seed), of_seed in runs.items():
        first, cells = of_seed["one", "tensorflow"], []
        for key in _COLUMNS:
            row = of_seed[key]
            loss, error = (float(row[k]) for k in ("train_loss", "test_error_percent"))
            cells.append(f"{loss:.4g}, {error:.2f} %")
            losses.append(abs(loss / float(first["train_loss"]) - 1))
            errors.append(abs(error - float(first["test_error_percent"])))
        whole = float(first["schedule_share"]) == 1
        name = f"`{config}`, " + ("whole" if whole else f"{epochs} epochs")
        lines.append(f"| {name} | {seed} | {' | '.join(cells)} |")
    several = [
        f"[{tag}](cards.md#{cards.anchor(tag)})"
        for tag, entry in manifest.published().items()
        if entry.get("replicas", 1) > 1
    ]
    return "\n".join(lines) + (
        "\n\nThe largest differences from one device of the same seed are "
        f"{max(losses):.1g} of the loss and {max(errors):.2f} points of the error. "
        f"Published weights of runs on several devices: {', '.join(several)}."
    )
