"""Host names that a server on loopback accepts.

Protects against DNS rebinding: a web page's domain can resolve to 127.0.0.1, and its
script could then read the models. A browser sends that domain as the Host header.
"""

import ipaddress

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def allowed_hosts(address: str) -> frozenset[str] | None:
    """Returns the accepted hosts of a server that listens on `address`; None: all."""
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = address == "localhost"
    bracketed = f"[{address}]" if ":" in address else address
    return _LOOPBACK | {bracketed} if is_loopback else None


def is_allowed(host: str, allowed: frozenset[str] | None) -> bool:
    """Returns whether a Host header is accepted; "" stands for a missing header."""
    if allowed is None or not host:
        return True
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() else host).lower() in allowed
