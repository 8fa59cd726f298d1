"""Names, colours and markers of activations in figures.

The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Look:
    """Colour and marker of an activation.

    Attributes:
        colour: "#rrggbb".
        marker: matplotlib's name of the marker.
    """

    colour: str
    marker: str

    def style(self, hollow: bool = False) -> dict[str, str]:
        """Returns the arguments of `Axes.plot` for a line with markers."""
        return {
            "color": self.colour,
            "marker": self.marker,
            # The edge separates a marker from the line.
            "markeredgecolor": self.colour if hollow else "white",
            "markerfacecolor": "white" if hollow else self.colour,
        }


_LOOKS = {
    "elu": Look("#0072b2", "o"),  # blue
    "relu": Look("#d55e00", "s"),  # vermilion
    "leaky_relu": Look("#009e73", "^"),  # green
    "shifted_relu": Look("#e69f00", "D"),  # orange
    "prelu": Look("#cc79a7", "v"),  # purple
    "rrelu": Look("#56b4e9", "P"),  # sky blue
    "tanh": Look("#000000", "X"),
}
# Paul Tol's colours and grey, which all readers can tell from Okabe and Ito's. Four
# colours and five markers have no common divisor, so that they make 20 looks.
_CYCLE_COLOURS = "#332288", "#661100", "#ddcc77", "#555555"
_CYCLE_MARKERS = "<", "p", ">", "d", "h"
_LABELS = {
    "elu": "ELU",
    "relu": "ReLU",
    "leaky_relu": "LReLU",
    "shifted_relu": "SReLU",
    "prelu": "PReLU",
    "rrelu": "RReLU",
}


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Returns the look of each activation in a figure.

    The paper's activations and tanh look the same in every figure. All other names get
    the colours and markers of a cycle, in alphabetical order.
    """
    others = sorted(set(names := list(names)) - _LOOKS.keys())
    cycle = {
        name: Look(_CYCLE_COLOURS[i % len(_CYCLE_COLOURS)], _CYCLE_MARKERS[i % len(_CYCLE_MARKERS)])
        for i, name in enumerate(others)
    }
    return {name: _LOOKS.get(name) or cycle[name] for name in names}


def label(name: str, batch_norm: bool = False, ours: bool = False) -> str:
    """Returns the label of an activation in legends and tables.

    Args:
        name: name of the activation.
        batch_norm: whether the networks have batch normalisation: "ELU + BN".
        ours: whether the paper's figure lacks the activation: "PReLU (ours)".
    """
    return _LABELS.get(name, name) + " + BN" * batch_norm + " (ours)" * ours
