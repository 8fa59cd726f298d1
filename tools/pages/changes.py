"""Figure of errors on changed images, of pairs of weights with ELU and with ReLU."""

import csv
import io
from pathlib import Path

from elu_zoo.pairs.plots import figures
from elu_zoo.pairs.plots.panels import Panel, Series
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
    panels = [_row(group, i + 1 == len(groups)) for i, group in enumerate(groups)]
    figures.draw(panels, stem, height=_ROW_HEIGHT * len(panels) + 0.4)


def _row(group: dict[str, runs.Rows], is_last: bool) -> list[Panel]:
    model, config = (group["elu"][0][key] for key in ("model", "config"))
    rest = config.partition(f"{model}-")[2]  # the data set and the schedule
    title = "\n".join(filter(None, (model, rest, "test error, %")))
    kinds = list(cards_measures.means(group["elu"]))[1:]  # without "none"
    highest = max(float(r["error_percent"]) for own in group.values() for r in own)
    return [
        Panel(
            kind,
            "severity" if is_last else "",
            "" if i else title,
            [_series(name, own, kind) for name, own in group.items()],
            ylim=(0, 1.05 * highest),
        )
        for i, kind in enumerate(kinds)
    ]


def _series(name: str, rows: runs.Rows, kind: str) -> Series:
    shown = [row for row in rows if row["kind"] in ("none", kind)]
    errors = [float(row["error_percent"]) for row in shown]
    return Series(name, [int(row["severity"]) for row in shown], [errors])
