"""One look for each activation: a colour, and a marker for who prints in grey.

The colours are Okabe and Ito's, which colour-blind people tell apart.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator

from elu_zoo import errors


@dataclasses.dataclass(frozen=True)
class Look:
    """How an activation is drawn.

    Attributes:
        colour: "#rrggbb".
        marker: matplotlib's name of it.
    """

    colour: str
    marker: str


_LOOKS = {
    "elu": Look("#0072b2", "o"),  # blue, as in the paper's figure 6
    "relu": Look("#d55e00", "s"),  # vermilion
    "leaky_relu": Look("#009e73", "^"),  # green
    "shifted_relu": Look("#e69f00", "D"),  # orange
    "prelu": Look("#cc79a7", "v"),  # purple
    "rrelu": Look("#56b4e9", "P"),  # sky blue
    "tanh": Look("#000000", "X"),
}
# Okabe and Ito have no more that stand out from white. These are Paul Tol's, and grey,
# chosen so that they keep apart from those above, too.
_COLOURS = "#332288", "#661100", "#ddcc77", "#555555"
_MARKERS = "<", "p", ">", "d", "h"
_MOST = len(_COLOURS) * len(_MARKERS)
_LABELS = {
    "elu": "ELU",
    "relu": "ReLU",
    "leaky_relu": "LReLU",
    "shifted_relu": "SReLU",
    "prelu": "PReLU",
    "rrelu": "RReLU",
}


def looks(activations: Iterable[str]) -> dict[str, Look]:
    """Returns the look of each activation in one figure.

    Those of the paper and its kin have a look of their own. Any other name has the one
    that its hash chooses, or the next that no other name of the figure has.

    Raises:
        UsageError: more than 20 other names.
    """
    names = set(activations)
    found = {name: _LOOKS[name] for name in sorted(names & _LOOKS.keys())}
    others = sorted(names - _LOOKS.keys())
    if len(others) > _MOST:
        raise errors.UsageError(
            f"A figure tells {_MOST} activations apart, beside those of the paper. "
            f"Received {len(others)}: {', '.join(others)}."
        )
    for name in others:
        found[name] = next(look for look in _wishes(name) if look not in found.values())
    return found


def label(activation: str, batch_norm: bool = False) -> str:
    """Returns an activation's name as people write it: "LReLU", "ELU + BN"."""
    return _LABELS.get(activation, activation) + " + BN" * batch_norm


def _wishes(name: str) -> Iterator[Look]:
    """Yields looks, the hash's first; colours are repeated when all are taken."""
    first = hashlib.sha256(name.encode()).digest()[0]
    for turn in range(len(_MARKERS)):
        for i in range(first, first + len(_COLOURS)):
            colour = i % len(_COLOURS)
            marker = (colour + turn) % len(_MARKERS)
            yield Look(_COLOURS[colour], _MARKERS[marker])
