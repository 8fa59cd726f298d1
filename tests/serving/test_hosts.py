import http.client

import pytest

from elu_zoo.serving import hosts

LOOPBACK = hosts.loopback_names("127.0.0.1")


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "box.example"])
def test_other_addresses_take_any_name(address):
    assert hosts.loopback_names(address) is None
    assert hosts.answers("evil.example", None)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:8501",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:80",
        "",
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback(address, host):
    assert hosts.answers(host, hosts.loopback_names(address))


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8501", "localhost.evil.example", "127.0.0.2", "::1"],
)
def test_other_hosts(host):
    assert not hosts.answers(host, LOOPBACK)


def test_the_bound_address():
    assert hosts.answers("127.0.0.2:8501", hosts.loopback_names("127.0.0.2"))


@pytest.mark.parametrize("path", ["/", "/livez", "/v1/models/net", "/nothing"])
def test_a_request_of_another_host(run, path):
    running = run()
    connection = http.client.HTTPConnection(running.server.rest_address, timeout=20)
    connection.request("GET", path, headers={"Host": "evil.example:8501"})
    answer = connection.getresponse()
    assert answer.status == 403 and answer.headers["Content-Type"].startswith(
        "text/plain"
    )
    text = answer.read().decode()
    connection.close()
    assert text.startswith("This server is not evil.example:8501: it answers to 127.0")
    assert "--host" in text
