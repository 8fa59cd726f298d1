"""Check of the Host header, for servers that listen on a loopback address.

In DNS rebinding, the domain of a web page resolves to 127.0.0.1, so that the page's
script can read the served models. The Host header then names the page's domain.
"""

import ipaddress

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def allowed_hosts(address: str) -> frozenset[str] | None:
    """Returns the hosts that a server on `address` accepts, or None for all hosts."""
    try:
        is_loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_loopback = address == "localhost"
    bracketed = f"[{address}]" if ":" in address else address
    return _LOOPBACK | {bracketed} if is_loopback else None


def is_allowed(host: str, allowed: frozenset[str] | None) -> bool:
    """Returns whether a Host header is accepted; a missing header is passed as ""."""
    if allowed is None or not host:
        return True
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() else host).lower() in allowed
