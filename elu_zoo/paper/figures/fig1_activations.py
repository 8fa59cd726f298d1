"""Figure 1: the activation functions and their derivatives."""

from pathlib import Path

import keras
import numpy as np
import pandas as pd

from elu_zoo import activations
from elu_zoo.pairs import plots
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import Claim
from elu_zoo.paper.experiment import Experiment

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


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    frame = frame.assign(batch_norm=False, seed=0)
    with plots.figure(stem, [2], 3.2) as [[left, right]]:
        plots.curves(left, frame, "x", "value")
        left.set(title="a  activation function", xlabel="x", ylabel="f(x)")
        plots.curves(right, frame, "x", "derivative")
        right.set(title="b  derivative", xlabel="x", ylabel="f\N{PRIME}(x)")


def _claim(name: str, section: str, text: str) -> Claim:
    """Returns a claim about deactivated units, which the figure shows."""
    return Claim(f"noise-{name}", section, text, "an argument", ())


_CLAIMS = (
    _claim(
        "robust-deactivation",
        "abstract, 1, 3",
        "While LReLUs and PReLUs have negative values, too, they do not ensure a "
        "noise-robust deactivation state.",
    ),
    _claim(
        "less-variation",
        "abstract, 3",
        "ELUs saturate to a negative value with smaller inputs and thereby decrease "
        "the forward propagated variation and information.",
    ),
    _claim(
        "absence-not-quantified",
        "abstract, 1, 3",
        "ELUs code the degree of presence of particular phenomena in the input, while "
        "they do not quantitatively model the degree of their absence.",
    ),
    _claim("robust", "1", "Such an activation function is more robust to noise."),
)

EXPERIMENT = Experiment(
    title="Figure 1: activation functions",
    section="3",
    draw=_draw,
    compute=compute,
    columns=("activation", "x", "value", "derivative"),
    claims=_CLAIMS,
    note=(
        "The derivative is the gain of a unit: what it passes on of a small change of "
        "its net input. In the deactivation state the gain of leaky ReLU is constant, "
        "and ELU's falls to 0. It is the smaller one only below a net input of "
        "ln 0.1 = -2.3. How much noise a trained network passes on therefore depends "
        "on its net inputs, so that no claim about noise is judged by the function."
    ),
)
