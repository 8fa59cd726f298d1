"""Figure 1: the activation functions and their derivatives."""

from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np

from elu_zoo import activations
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.run.spec import Plan

_X = np.linspace(-3, 3, 241)
_STEP = 1e-3


def compute(plan: Plan) -> list[dict]:
    """Returns values and derivatives, these by central differences."""
    rows = []
    for name in plan.arms("elu", "relu", "leaky_relu", "shifted_relu"):
        layer = activations.make(name, f"act_{name}", seed=0)
        # One unit: a parametric rectifier has a slope for each.
        values, above, below = (
            np.asarray(layer(keras.ops.convert_to_tensor(x[:, None], "float32")))[:, 0]
            for x in (_X, _X + _STEP, _X - _STEP)
        )
        slopes = (above.astype(float) - below) / (2 * _STEP)
        rows += [
            {"activation": name, "x": float(x), "value": float(y), "derivative": dy}
            for x, y, dy in zip(_X, values, slopes.tolist(), strict=True)
        ]
    return rows


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    found: dict[str, list] = {}
    for row in rows["fig1"]:
        values = [float(row[key]) for key in ("x", "value", "derivative")]
        found.setdefault(row["activation"], []).append(values)
    figures.functions({k: tuple(np.array(v).T) for k, v in found.items()}, stem)


def _summary(rows: Mapping[str, Rows]) -> str:
    lines = ["| activation | f(-3) | f(0) | f(3) |", "|---|---|---|---|"]
    for name in dict.fromkeys(row["activation"] for row in rows["fig1"]):
        own = [row for row in rows["fig1"] if row["activation"] == name]
        ends = (own[0], own[len(own) // 2], own[-1])
        cells = [
            f"{float(row['value']):.3f}".replace("-0.000", "0.000") for row in ends
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


EXPERIMENT = Experiment(
    title="Figure 1: activation functions",
    section="3",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=("activation", "x", "value", "derivative"),
)
