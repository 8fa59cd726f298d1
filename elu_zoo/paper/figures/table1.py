"""Table 1: the paper's column beside the size of our networks and what they measure."""

import statistics
from collections.abc import Mapping

from elu_zoo import registry, results, zoo
from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.run.spec import Plan

_DATA = "cifar10", "cifar100"
_COLUMNS = {"paper": "the paper", "ours": "ours, its own unit", "elu": "ours, ELU"}
# Of the paper's section 4.2, beside the rows of its table.
_OURS = {
    "network": "ELU network of section 4.2",
    "model": "elu_cifar_11",
    "cifar10_error_percent": "",
    "cifar100_error_percent": "28.75",
    "augmented": "True",
}


def compute(plan: Plan) -> list[dict]:
    """Returns the rows of the table, ours of the runs in results.csv."""
    measured = results.read("results.csv")
    rows = []
    for row in [*results.read("table1.csv"), _OURS]:
        found = {
            "network": row["network"],
            "model": row["model"],
            "augmented": row["augmented"],
            **{f"paper_{data}": row[f"{data}_error_percent"] for data in _DATA},
        }
        info = zoo.model_info(row["model"])
        found["parameters"] = info.parameters
        found["multiply_accumulates"] = info.multiply_accumulates
        for data in _DATA:
            for whose, unit in (("ours", _own_unit(row["model"])), ("elu", "elu")):
                found[f"{whose}_{data}"] = _error(row["model"], data, unit, measured)
        rows.append(found)
    return rows


def _own_unit(model: str) -> str:
    return registry.entry(model).default("activation")


def _error(model: str, data: str, unit: str, rows: Rows) -> str:
    """Returns the error of the runs that stand beside the paper's, and their number.

    These are runs of the whole schedule that the paper, or a network's authors, had.
    """
    found = [
        row
        for row in rows
        if (row["model"], row["dataset"], row["activation"]) == (model, data, unit)
        and row["batch_norm"] == "False"
        and (row["schedule"], float(row["schedule_share"])) == ("paper", 1)
    ]
    if not found:
        return ""
    values = [float(row["test_error_percent"]) for row in found]
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    runs = "1 run" if len(values) == 1 else f"{len(values)} runs"
    epochs = found[0]["epochs"]
    return f"{statistics.mean(values):.2f}{spread} ({runs} of {epochs} epochs)"


def _summary(rows: Mapping[str, Rows]) -> str:
    lines = []
    for row in rows["table1"]:
        count, products = row["parameters"], row["multiply_accumulates"]
        lines.append(
            [
                row["network"],
                row["model"],
                f"{int(count):,}",
                f"{float(products) / 1e6:,.0f} M",
                "yes" if row["augmented"] == "True" else "",
                *(row[f"{whose}_{data}"] for whose in _COLUMNS for data in _DATA),
            ]
        )
    titles = ("network", "ours", "parameters", "multiply-adds", "augmented")
    for whose in _COLUMNS.values():
        titles += tuple(f"{data}, {whose} %" for data in ("CIFAR-10", "CIFAR-100"))
    return grouping.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Table 1: ELU networks and their rivals",
    section="4.3",
    draw=None,
    summary=_summary,
    compute=compute,
    columns=(
        *("network", "model", "augmented", "parameters", "multiply_accumulates"),
        *(f"{whose}_{data}" for whose in _COLUMNS for data in _DATA),
    ),
    note=(
        "The paper leaves the column `augmented` empty for its own network, though its "
        "text pads, crops and mirrors; of NiN, DSN and Maxout the tick fits the "
        "CIFAR-10 errors. Its text says 18 convolutional layers, its list has 19. "
        "Sizes are those of the builders' default classes. Ours are of runs of the "
        "whole schedule that the paper, or a network's authors, had; shorter ones, and "
        "those of our own `fast` schedule, say how far a network got, not how good it "
        "is, and stand elsewhere. What is empty was not trained to the end."
    ),
)
