"""Comparison and description of the origins of exported models.

An origin is the content of the file elu_zoo.json. Any field may be missing or of any
type, because other software may have written the file. None is an unknown origin.
"""

from collections.abc import Mapping
from typing import Any

from elu_zoo import errors

Origin = Mapping[str, Any]
UNKNOWN = "weights of unknown origin"


def weights(origin: Origin | None) -> Mapping[str, Any]:
    """Returns `tag` and `sha256` of the weights, or an empty mapping if unknown."""
    value = (origin or {}).get("weights")
    return value if isinstance(value, Mapping) else {}


def is_same(first: Origin | None, second: Origin | None) -> bool:
    """Returns whether two origins are certainly the same trained model."""
    sha256 = weights(first).get("sha256")
    return bool(sha256) and sha256 == weights(second).get("sha256")


def text(origin: Origin | None) -> str:
    """Returns the data set, the activation and the tag of the weights, as far as known."""
    fields = origin or {}
    tag, sha256 = (weights(origin).get(field) for field in ("tag", "sha256"))
    alpha = fields.get("alpha")
    alpha = f" (alpha {alpha:g})" if isinstance(alpha, int | float) else ""
    activation = f"{fields['activation']}{alpha}" if fields.get("activation") else None
    untagged = f"weights {str(sha256)[:8]} without a tag" if sha256 else UNKNOWN
    parts = fields.get("dataset"), activation, tag or untagged
    return errors.printable(", ".join(str(part) for part in parts if part), 300)
