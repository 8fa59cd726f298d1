"""The origin of an exported model, from elu_zoo.json: comparison and description.

Any field may be missing, because an earlier version of elu_zoo may have written the
file. None is an unknown origin.
"""

from collections.abc import Mapping
from typing import Any

from elu_zoo.weights.hdf5 import untrusted

Origin = Mapping[str, Any]
UNKNOWN = "weights of unknown origin"
_LENGTH = 300


def weights(origin: Origin | None) -> Mapping[str, Any]:
    """Returns `tag` and `sha256` of the weights; an empty mapping if unknown."""
    found = (origin or {}).get("weights")
    return found if isinstance(found, Mapping) else {}


def is_same(one: Origin | None, other: Origin | None) -> bool:
    """Whether two origins are known to be the same trained model.

    Equal hashes of the weights are not enough: a file without an entry fits several
    activations.
    """
    sha256 = weights(one).get("sha256")
    if not sha256 or sha256 != weights(other).get("sha256"):
        return False
    return all(one.get(x) == other.get(x) for x in ("model", "activation", "alpha"))


def label(origin: Origin | None) -> str:
    """Returns the tag of the weights, or `text` without a tag."""
    tag = weights(origin).get("tag")
    return untrusted.printable(str(tag), _LENGTH) if tag else text(origin)


def text(origin: Origin | None) -> str:
    """Returns the data set, the activation and the tag of the weights, if known."""
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
