"""Downloads from good sources, and errors for slow, wrong and missing sources."""

import hashlib
import re
import sys
import time

import huggingface_hub.constants
import loopback
import pytest
from file_sources import CONTENT, NAME, SHA256, WRONG, Handler, entry, present

from elu_zoo import errors
from elu_zoo.weights import download
from elu_zoo.weights.hdf5 import http_stream


@pytest.mark.parametrize("behaviour", ["good", "unsized", "chunked", "moved"])
def test_a_file_is_downloaded_once(server, home, caplog, behaviour):
    source = f"{server.address}/{behaviour}"
    with caplog.at_level("INFO", "absl"):
        (path,) = download.ensure(entry(source))
    assert path == home / "weights" / NAME and path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o777 == 0o644
    assert present(home) == [f"weights/{NAME}"]
    assert caplog.messages == [f"Downloaded {NAME}, 150000 bytes, from {source}."]
    count = len(server.requests)
    assert download.ensure(entry(source)) == [path]
    assert len(server.requests) == count


# Maps the behaviour of a source, or its address, to the reason in the message.
BAD = {
    "truncated": "it ended after 149991 of 150000 bytes",
    "wrong": f"its SHA-256 is {hashlib.sha256(WRONG).hexdigest()}",
    "long": "it sends more than 150000 bytes",
    "endless": "it sends more than 150000 bytes",
    "never_begins": "more than 250000 bytes were sent",
    "absent": "HTTP 404 Not Found",
    "bad_reason": r"HTTP 500 no \[2J way",
    "garbage": "SSH-2.0-OpenSSH",
    "silent": "timed out",
    "drips": "too slow: .* bytes in . s",
    "drips_headers": "too slow: .* bytes in . s",
    "drips_chunks": "too slow: .* bytes in . s",
    "circle": "HTTP 302 .*infinite loop",
    "to_a_file": "HTTP 302 .*Redirection to url 'file:///etc/passwd' is not allowed",
    "to_ftp": "unknown url type: ftp",
    "CLOSED": "Connection refused",
    "/etc": "a source must be https://host/folder or hf:owner/repo",
    "http://": "no host given",
    "http://[": "Invalid IPv6 URL",
}
SLOW = "silent", "drips", "drips_headers", "drips_chunks"


@pytest.fixture
def closed():
    """The address of a server that has stopped."""
    with loopback.serve(Handler) as server:
        address = server.address
    return address


@pytest.fixture
def bad(request, server, closed, monkeypatch):
    """The tuple (source, expected reason in the message)."""
    monkeypatch.setattr(http_stream, "_OVERHEAD_BYTES", 100_000)
    name = request.param
    if name in SLOW:
        silence = 0.2 if name == "silent" else 2.0
        monkeypatch.setattr(http_stream, "_SILENCE_SECONDS", silence)
        monkeypatch.setattr(http_stream, "_GRACE_SECONDS", 0.2)
    is_method = hasattr(Handler, name)
    source = f"{server.address}/{name}" if is_method else name.replace("CLOSED", closed)
    return source, BAD[name]


@pytest.mark.parametrize("bad", BAD, indirect=True)
def test_a_bad_source_alone_is_an_error_with_advice(bad, home):
    source, reason = bad
    start = time.monotonic()
    with pytest.raises(errors.ResourceError, match=reason) as caught:
        download.ensure(entry(source))
    assert time.monotonic() - start < 2
    message = str(caught.value)
    assert message.isprintable() and f"{source}: " in message
    assert f"neither in the package nor in {home / 'weights'}, and no" in message
    assert message.endswith(
        f"Without a network, copy {NAME} to this folder (SHA-256 {SHA256}, 150000 "
        "bytes)."
    )
    assert present(home) == []


@pytest.mark.parametrize("bad", ["truncated", "wrong", "drips"], indirect=True)
def test_a_good_source_after_a_bad_source_is_used(
    bad, server, home, monkeypatch, caplog
):
    source, reason = bad
    monkeypatch.setattr(http_stream, "_GRACE_SECONDS", 0.7)
    (path,) = download.ensure(entry(source, f"{server.address}/good"))
    assert path.read_bytes() == CONTENT
    assert present(home) == [f"weights/{NAME}"]
    assert f"{NAME} was not downloaded from {source}: " in caplog.text
    assert re.search(reason, caplog.text)


def test_every_reason_is_in_the_message(server, home):
    sources = [f"{server.address}/{name}" for name in ("absent", "wrong")]
    with pytest.raises(errors.ResourceError, match="absent: HTTP 404 .*; .*wrong: its"):
        download.ensure(entry(*sources))


@pytest.fixture
def hub(server, monkeypatch):
    """The server as the Hugging Face Hub, which redirects to another folder."""
    constants = huggingface_hub.constants
    template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(Handler, "owner", Handler.moved, raising=False)
    monkeypatch.setenv("HF_TOKEN", "secret")
    return server


def test_the_token_is_sent_to_the_hub_only(hub, home):
    (file,) = download.ensure(entry("hf:owner/repo"))
    assert file.read_bytes() == CONTENT
    (path, headers), (new_path, new_headers) = hub.requests
    assert path == f"/owner/repo/resolve/main/{NAME}"
    assert headers["Authorization"] == "Bearer secret"
    assert new_path == f"/good/{NAME}" and "Authorization" not in new_headers


@pytest.mark.parametrize(
    ("constant", "value"),
    [("HF_HUB_OFFLINE", True), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", True)],
)
def test_settings_of_the_hub_are_followed(hub, home, monkeypatch, constant, value):
    monkeypatch.setattr(huggingface_hub.constants, constant, value)
    if constant == "HF_HUB_OFFLINE":
        with pytest.raises(errors.ResourceError, match="HF_HUB_OFFLINE is set"):
            download.ensure(entry("hf:owner/repo"))
        assert hub.requests == []
    else:
        download.ensure(entry("hf:owner/repo"))
        assert "Authorization" not in hub.requests[0][1]


def test_the_hub_without_its_library_is_an_error_with_advice(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        errors.ResourceError, match=r'is not installed: pip install "elu-zoo\[hub\]"'
    ):
        download.ensure(entry("hf:owner/repo"))
