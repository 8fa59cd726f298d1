"""The names under which a server on loopback answers.

A web page of another site can point a name of its own at 127.0.0.1, and its script
would then read the models (DNS rebinding); a browser names that site as the host.
"""

import ipaddress

from elu_zoo.serving.refusals import clipped

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def loopback_names(address: str) -> frozenset[str] | None:
    """Returns the names of a server that listens on `address`; None for any name."""
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = address == "localhost"
    own = f"[{address}]" if ":" in address else address
    return _LOOPBACK | {own} if is_loopback else None


def answers(host: str, names: frozenset[str] | None) -> bool:
    """Returns whether a request is answered, by its Host header; "" if it has none."""
    if names is None or not host:
        return True
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() else host).lower() in names


def refusal(host: str, names: frozenset[str]) -> str:
    """Returns the message for a request of another host."""
    return (
        f"This server is not {clipped(host)}: it answers to "
        f"{', '.join(sorted(names))} only. elu-zoo-serve --host=<address> lets other "
        "names in.\n"
    )
