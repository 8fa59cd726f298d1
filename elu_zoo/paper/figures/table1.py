"""Table 1: the paper's test errors beside ours, and the sizes of the networks."""

import math
from typing import Any

import pandas as pd

from elu_zoo import registry, results, zoo
from elu_zoo.data import catalog
from elu_zoo.pairs import palette, tables
from elu_zoo.pairs.grouping import Rows
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import Claim
from elu_zoo.paper.experiment import Experiment

_DATA = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
_SOURCES = "paper", "ours", "elu"  # ours: our runs with the network's own activation
# The network of the paper's section 4.2 is missing in the paper's Table 1.
_OF_SECTION_4_2 = {
    "network": "ELU network of section 4.2",
    "model": "elu_cifar_11",
    "cifar10_error_percent": "",
    "cifar100_error_percent": "28.75",
    "augmented": "True",
}


def compute(plan: Plan) -> list[dict]:
    """Returns the rows of the table, with our errors from results.csv."""
    measured = results.read("results.csv")
    rows = []
    for row in [*results.read("table1.csv"), _OF_SECTION_4_2]:
        cells: dict[str, Any] = {
            "network": row["network"],
            "model": row["model"],
            "augmented": row["augmented"],
            **{f"paper_{data}": row[f"{data}_error_percent"] for data in _DATA},
        }
        info = zoo.model_info(row["model"])
        cells["parameters"] = info.parameters
        cells["multiply_accumulates"] = info.multiply_accumulates
        for data in _DATA:
            for whose, activation in (("ours", _own_activation(row["model"])), ("elu", "elu")):
                cells[f"{whose}_{data}"] = _error(row["model"], data, activation, measured)
        rows.append(cells)
    return rows


def _own_activation(model: str) -> str:
    return registry.entry(model).default("activation")


def _error(model: str, data: str, activation: str, rows: Rows) -> str:
    """Returns the mean error, as text, of the last run of each seed of a whole schedule."""
    selected = [
        row
        for row in rows
        if (row["model"], row["dataset"], row["activation"]) == (model, data, activation)
        and row["batch_norm"] == "False"
        and results.has_papers_config(row)
        and (row["schedule"], float(row["schedule_share"])) == ("paper", 1)
        and results.beats_chance(
            float(row["test_error_percent"]), catalog.ENTRIES[data].num_classes
        )
    ]
    if not selected:
        return ""
    values = [*{row["seed"]: float(row["test_error_percent"]) for row in selected}.values()]
    runs = "1 run" if len(values) == 1 else f"{len(values)} runs"
    epochs = selected[0]["epochs"]
    return f"{results.spread(values)} ({runs} of {epochs} epochs)"


def _summary(frame: pd.DataFrame) -> str:
    lines = []
    for row in frame.to_dict("records"):
        size = [
            f"{row['parameters']:,}",
            f"{row['multiply_accumulates'] / 1e6:,.0f} M",
            "yes" if row["augmented"] == "True" else "",
        ]
        errors = [_cell(row, data) for data in _DATA]
        lines.append([row["network"], row["model"], *size, *errors])
    titles = ["network", "our model", "parameters", "multiply-adds", "augmented"]
    titles += [f"{name}: the paper's error %; ours" for name in _DATA.values()]
    return tables.markdown(titles, lines)


def _cell(row: dict[str, Any], data: str) -> str:
    """Returns the paper's error on a data set, and ours."""
    own = palette.label(_own_activation(row["model"]))
    errors = {own: row[f"ours_{data}"], palette.label("elu"): row[f"elu_{data}"]}
    ours = [f"{activation} {error}" for activation, error in errors.items() if not pd.isna(error)]
    error = row[f"paper_{data}"]
    paper = "not reported" if math.isnan(error) else f"{error:.2f}"
    return f"{paper}; {', '.join(ours) or 'not trained to the end'}"


_CLAIMS = (
    Claim(
        "table1-best-on-cifar100",
        "abstract, 4.3",
        "ELU networks are among the top 10 reported CIFAR-10 results and yield the "
        "best published result on CIFAR-100.",
        "6.55 % and 24.28 %",
        (),
    ),
)

EXPERIMENT = Experiment(
    title="Table 1: ELU networks and their baselines",
    section="4.3",
    data="CIFAR",
    draw=None,
    summary=_summary,
    compute=compute,
    columns=(
        *("network", "model", "augmented", "parameters", "multiply_accumulates"),
        *(f"{whose}_{data}" for whose in _SOURCES for data in _DATA),
    ),
    claims=_CLAIMS,
    note=(
        "The paper leaves the column `augmented` empty for its own network, though its text "
        "pads, crops and mirrors the images. The ticks of NiN, DSN and Maxout fit their "
        "CIFAR-10 errors. The paper's text has 18 convolutional layers and its list 19. Sizes "
        "are of our models with their default number of classes. Our errors are of runs with "
        "the whole schedule of the paper or of a network's authors."
    ),
)
