"""The origin of an exported model, from elu_zoo.json: compared, and in words.

The file may be of an earlier version of elu_zoo, or not there: every field may be
missing, and None is an origin of which nothing is known.
"""

from collections.abc import Mapping
from typing import Any

from elu_zoo.weights.hdf5 import untrusted

Origin = Mapping[str, Any]
UNKNOWN = "weights of unknown origin"
_LENGTH = 300


def weights(origin: Origin | None) -> Mapping[str, Any]:
    """Returns `tag` and `sha256` of an origin's weights; nothing of unknown ones."""
    found = (origin or {}).get("weights")
    return found if isinstance(found, Mapping) else {}


def is_same(one: Origin | None, other: Origin | None) -> bool:
    """Whether two origins are known to be of the same trained model.

    The hash of the weights decides, and beside it network and activation: a file
    without an entry fits several activations.
    """
    sha256 = weights(one).get("sha256")
    if not sha256 or sha256 != weights(other).get("sha256"):
        return False
    return all(one.get(x) == other.get(x) for x in ("model", "activation", "alpha"))


def label(origin: Origin | None) -> str:
    """Returns the tag of an origin's weights, or all that is known of an origin."""
    tag = weights(origin).get("tag")
    return untrusted.printable(str(tag), _LENGTH) if tag else text(origin)


def text(origin: Origin | None) -> str:
    """Returns data set, activation and tag of an origin, those that are known."""
    dataset, activation, alpha = (
        (origin or {}).get(field) for field in ("dataset", "activation", "alpha")
    )
    known = [str(dataset)] if dataset else []
    if activation and isinstance(alpha, int | float):
        known.append(f"{activation} (alpha {alpha:g})")
    elif activation:
        known.append(str(activation))
    tag, sha256 = (weights(origin).get(field) for field in ("tag", "sha256"))
    without = f"weights {str(sha256)[:8]} without a tag" if sha256 else UNKNOWN
    known.append(str(tag) if tag else without)
    return untrusted.printable(", ".join(known), _LENGTH)
