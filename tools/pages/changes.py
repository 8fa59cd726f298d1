"""Figure of errors on changed images, of pairs of weights with ELU and with ReLU."""

import csv
import io
from pathlib import Path

from elu_zoo.pairs import grouping, plots
from elu_zoo.weights import cards_measures
from pages import runs

STEM = Path("configs") / "results" / "figures" / "image_changes"  # in the repository
_PAIR = "elu", "relu"
_SAME = "config", "dataset", "seed", "images"  # columns that a pair has in common
_ROW_HEIGHT = 1.9  # inches


def pairs(rows: runs.Rows) -> dict[tuple, dict[str, runs.Rows]]:
    """Returns the rows of ELU and of ReLU for each config, data set and seed."""
    groups: dict[tuple, dict[str, runs.Rows]] = {}
    for row in rows:
        group = groups.setdefault(tuple(row[key] for key in _SAME), {})
        group.setdefault(row["activation"], []).append(row)
    return {
        key: {name: group[name] for name in _PAIR}
        for key, group in groups.items()
        if group.keys() >= {*_PAIR}
    }


def text(rows: runs.Rows) -> str:
    """Returns the points of the figure, as the text of figures/image_changes.csv."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, cards_measures.COLUMNS, lineterminator="\n")
    writer.writeheader()
    for group in pairs(rows).values():
        for own in group.values():
            writer.writerows(own)
    return buffer.getvalue()


def caption(rows: runs.Rows) -> str:
    """Returns the text below the figure: the paper's claim, and errors under noise."""
    measured = []
    for group in pairs(rows).values():
        errors = {x: cards_measures.means(own)["noise"] for x, own in group.items()}
        first = group["elu"][0]
        measured.append(
            f"{errors['elu']:.2f} and {errors['relu']:.2f} % (`{first['config']}`, "
            f"{first['dataset']}, {int(first['images']):,} images)"
        )
    return (
        "The paper says in section 1 that an activation function which saturates for "
        "small inputs is more robust to noise; under pixel noise the mean errors of "
        "ELU and ReLU over five severities "
        f"are {', '.join(measured)}, with one seed for each file: too few runs to "
        "judge the claim."
    )


def draw(rows: runs.Rows, stem: Path) -> None:
    """Draws the figure from rows of image_changes.csv; `stem` has no suffix."""
    groups = list(pairs(rows).values())
    kinds = list(cards_measures.means(groups[0]["elu"]))[1:]  # without "none"
    layout = [len(kinds)] * len(groups)
    with plots.figure(stem, layout, _ROW_HEIGHT * len(groups) + 0.4) as grid:
        for group, row in zip(groups, grid, strict=True):
            frame = grouping.frame(row for own in group.values() for row in own)
            frame["batch_norm"] = False
            for axes, kind in zip(row, kinds, strict=True):
                shown = frame[frame["kind"].isin(["none", kind])]
                plots.curves(axes, shown, "severity", "error_percent")
                axes.set(title=kind, ylim=(0, 1.05 * frame["error_percent"].max()))
            row[0].set_ylabel(_ylabel(group["elu"][0]))
        for axes in grid[-1]:
            axes.set_xlabel("severity")


def _ylabel(row: dict[str, str]) -> str:
    rest = row["config"].partition(f"{row['model']}-")[2]  # the data set and the schedule
    return "\n".join(filter(None, (row["model"], rest, "test error, %")))
