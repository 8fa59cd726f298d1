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

_X = np.linspace(-6, 3, 361)
_STEP = 2e-3
# LReLU has the paper's slope, 0.1; panel c also has the slopes of its peers.
_PAPER = "elu", "relu", "leaky_relu", "shifted_relu"
_SLOPES = {f"LReLU, slope {slope}": slope for slope in (0.01, 0.333)}


def compute(plan: Plan) -> list[dict]:
    """Returns values of the activations, and derivatives by central differences."""
    functions: dict[str, dict] = {name: {"name": name} for name in _PAPER}
    functions |= {name: {"name": "leaky_relu", "alpha": x} for name, x in _SLOPES.items()}
    rows = []
    for name, function in functions.items():
        layer = activations.make(function, "act", seed=0)
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
    near = frame[frame["activation"].isin(_PAPER) & (frame["x"] >= -3)]
    gains = frame[frame["activation"].isin(["elu", "leaky_relu", *_SLOPES]) & (frame["x"] < 0)]
    with plots.figure(stem, [3], 3.2) as [[left, middle, right]]:
        plots.curves(left, near, "x", "value")
        left.set(title="a  activation function", xlabel="x", ylabel="f(x)")
        plots.curves(middle, near, "x", "derivative")
        middle.set(title="b  derivative", xlabel="x", ylabel="f\N{PRIME}(x)")
        right.set(title="c  gain when deactivated", xlabel="net input", yscale="log")
        plots.curves(right, gains, "x", "derivative")


_CLAIMS = (
    (
        "noise-robust-deactivation",
        "abstract, 1, 3",
        "While LReLUs and PReLUs have negative values, too, they do not ensure a "
        "noise-robust deactivation state.",
    ),
    (
        "noise-less-variation",
        "abstract, 3",
        "ELUs saturate to a negative value with smaller inputs and thereby decrease "
        "the forward propagated variation and information.",
    ),
    (
        "noise-absence-not-quantified",
        "abstract, 1, 3",
        "ELUs code the degree of presence of particular phenomena in the input, while "
        "they do not quantitatively model the degree of their absence.",
    ),
)

EXPERIMENT = Experiment(
    title="Figure 1: activation functions",
    section="3",
    data="functions",
    draw=_draw,
    compute=compute,
    columns=("activation", "x", "value", "derivative"),
    claims=tuple(Claim(*texts, "an argument", ()) for texts in _CLAIMS),
    note=(
        "The derivative is the gain of a unit: what it passes on of a small change of "
        "its net input. Panel c shows it for negative net inputs. The paper's claims on "
        "deactivation are about a limit: ELU's gain falls to 0 and leaky ReLU's never "
        "does, by construction. ELU's is the smaller one only below a net input of ln of "
        "the slope: -4.6 for 0.01, -2.3 for the paper's 0.1 and -1.1 for 0.333. What a "
        "trained network passes on depends on its net inputs, so that no verdict comes "
        "from the function; `theory` has errors of trained networks under noise."
    ),
)
