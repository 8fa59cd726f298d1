"""Names, colours and markers of activations in figures.

The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple


class Look(NamedTuple):
    """Colour ("#rrggbb") and marker (matplotlib's name) of an activation."""

    colour: str
    marker: str

    def style(self, hollow: bool = False) -> dict[str, Any]:
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
    others = sorted(set(names) - _LOOKS.keys())
    cycle = {
        name: Look(_CYCLE_COLOURS[i % len(_CYCLE_COLOURS)], _CYCLE_MARKERS[i % len(_CYCLE_MARKERS)])
        for i, name in enumerate(others)
    }
    return _LOOKS | cycle


def label(name: str, batch_norm: bool = False) -> str:
    """Returns the label of an activation in legends and tables, such as "ELU + BN"."""
    return _LABELS.get(name, name) + " + BN" * batch_norm
