"""A server on a loopback address rejects requests with the Host of another machine."""

import http.client

import pytest

from elu_zoo.serving.hosts import allowed_hosts, is_allowed


@pytest.mark.parametrize(
    ("address", "accepted", "rejected"),
    [
        (
            "127.0.0.1",
            ["localhost", "LocalHost:8501", "127.0.0.1:1", "[::1]", "[::1]:80", ""],
            ["evil.example:8501", "localhost.evil.example", "127.0.0.2", "::1"],
        ),
        ("127.0.0.2", ["127.0.0.2:8501", "127.0.0.1"], ["evil.example"]),
        ("::1", ["[::1]:80", "localhost"], ["evil.example"]),
        ("localhost", ["localhost:80"], ["evil.example"]),
        *((host, ["evil.example"], []) for host in ("0.0.0.0", "192.0.2.7", "box.example")),
    ],
)
def test_loopback_addresses_accept_only_loopback_hosts(address, accepted, rejected):
    allowed = allowed_hosts(address)
    assert [host for host in accepted if not is_allowed(host, allowed)] == []
    assert [host for host in rejected if is_allowed(host, allowed)] == []


def test_request_with_another_host_is_rejected(run):
    running = run()
    for path, host in ("/", "evil.example:8501"), ("/v1/models/net", "\xe9.x"), ("/nothing", "a"):
        connection = http.client.HTTPConnection(running.server.rest_address, timeout=20)
        connection.request("GET", path, headers={"Host": host})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 403
        assert "127.0.0.1, [::1], localhost, got " in text and "--host" in text
        assert host in text or not host.isascii()
