"""Figure 1: the activation functions and their derivatives."""

from pathlib import Path

import keras
import numpy as np

from elu_zoo import activations
from elu_zoo.paper import tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.grouping import Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.run.spec import Plan

_X = np.linspace(-3, 3, 241)
_STEP = 1e-3


def compute(plan: Plan) -> list[dict]:
    """Returns values of the activations, and derivatives by central differences."""
    rows = []
    for name in ("elu", "relu", "leaky_relu", "shifted_relu"):
        layer = activations.make(name, f"act_{name}", seed=0)
        values, above, below = (
            np.asarray(layer(keras.ops.convert_to_tensor(x, "float32")))
            for x in (_X, _X + _STEP, _X - _STEP)
        )
        slopes = (above.astype(float) - below) / (2 * _STEP)
        rows += [
            {"activation": name, "x": float(x), "value": float(y), "derivative": dy}
            for x, y, dy in zip(_X, values, slopes.tolist(), strict=True)
        ]
    return rows


def _draw(rows: Rows, stem: Path) -> None:
    curves = {}
    for name, own in _by_activation(rows).items():
        columns = ("x", "value", "derivative")
        curves[name] = tuple(np.array([float(r[c]) for r in own]) for c in columns)
    figures.functions(curves, stem)


def _summary(rows: Rows) -> str:
    lines = []
    for name, own in _by_activation(rows).items():
        values = [float(own[i]["value"]) for i in (0, len(own) // 2, -1)]
        lines.append([name, *(f"{round(value, 3) + 0.0:.3f}" for value in values)])
    return tables.markdown(("activation", "f(-3)", "f(0)", "f(3)"), lines)


def _by_activation(rows: Rows) -> dict[str, Rows]:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(row["activation"], []).append(row)
    return groups


EXPERIMENT = Experiment(
    title="Figure 1: activation functions",
    section="3",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=("activation", "x", "value", "derivative"),
)
