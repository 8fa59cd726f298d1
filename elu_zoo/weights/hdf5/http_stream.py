"""Downloads with limits of time, size and memory that hold for any server.

A source is a folder of files, `https://host/folder`, or a repository of the Hugging
Face Hub, `hf:owner/repo`, which needs the extra `hub`. Redirections may lead to http
and https only. Headers and redirections count towards the limits.
"""

import functools
import http.client
import io
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import elu_zoo

_SILENCE_SECONDS = 10.0  # the longest wait for one byte
_GRACE_SECONDS = 30.0  # allowed in addition to bytes / _BYTES_PER_SECOND
_BYTES_PER_SECOND = 20_000
_OVERHEAD_BYTES = 1 << 20  # an upper bound of the headers
_CHUNK_BYTES = 1 << 16
_REPOSITORY = re.compile(r"hf:([\w.-]+/[\w.-]+)")


class SourceError(Exception):
    """A source did not send the file; the message is the reason."""


def chunks(source: str, name: str, limit: int) -> Iterator[bytes]:
    """Yields the content of a file in chunks.

    Args:
        source: `https://host/folder`, `http://...` or `hf:owner/repo`.
        name: the name of the file.
        limit: the largest size in bytes. The chunks may exceed the limit by one chunk.

    Raises:
        SourceError: the source did not send the complete file.
    """
    pace = _Pace(limit + _OVERHEAD_BYTES)
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirections(),
        urllib.request.HTTPErrorProcessor(),
        _Handler(pace),
    ):
        opener.add_handler(handler)
    try:
        request = _request(source, name)
        with opener.open(request, timeout=_SILENCE_SECONDS) as response:
            while chunk := response.read(_CHUNK_BYTES):
                yield chunk
    except urllib.error.HTTPError as error:
        error.close()
        raise SourceError(_line(f"HTTP {error.code} {error.reason}")) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise SourceError(_line(str(reason) or type(reason).__name__)) from error


def _request(source: str, name: str) -> urllib.request.Request:
    headers = {"User-Agent": f"elu_zoo/{elu_zoo.__version__}"}
    repository = _REPOSITORY.fullmatch(source)
    if repository:
        return _hub_request(repository[1], name, headers)
    if not source.startswith(("https://", "http://")):
        raise SourceError("a source must be https://host/folder or hf:owner/repo")
    url = f"{source.rstrip('/')}/{urllib.parse.quote(name)}"
    return urllib.request.Request(url, headers=headers)


def _hub_request(
    repository: str, name: str, headers: dict[str, str]
) -> urllib.request.Request:
    """Returns the request for a file of the hub, with the user's token if any."""
    try:
        from huggingface_hub import constants, get_token, hf_hub_url
    except ImportError:
        raise SourceError(
            'huggingface_hub is not installed: pip install "elu-zoo[hub]"'
        ) from None
    if constants.HF_HUB_OFFLINE:
        raise SourceError("$HF_HUB_OFFLINE is set")
    request = urllib.request.Request(hf_hub_url(repository, name), headers=headers)
    token = get_token()
    if token and not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN:
        # The hub redirects to other hosts, which must not receive the token.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    return request


def _line(text: str) -> str:
    """Returns text from a server as one line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]


class _Pace:
    """The limits of time and bytes of one download, including redirections."""

    def __init__(self, limit: int):
        self._limit = limit
        self._start = time.monotonic()
        self._count = 0

    def readinto(self, raw: io.RawIOBase, buffer) -> int | None:
        """Reads from a socket, unless a limit is exceeded."""
        seconds = time.monotonic() - self._start
        if seconds > _GRACE_SECONDS + self._count / _BYTES_PER_SECOND:
            raise TimeoutError(f"too slow: {self._count} bytes in {seconds:.0f} s")
        if self._count > self._limit:
            raise OSError(f"more than {self._limit} bytes were sent")
        number = raw.readinto(buffer)
        self._count += number or 0
        return number


class _Stream(io.RawIOBase):
    """A socket that is read within the limits of a `_Pace`."""

    def __init__(self, raw: io.RawIOBase, pace: _Pace):
        self._raw = raw
        self._pace = pace

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int | None:
        return self._pace.readinto(self._raw, buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response that reads headers and body through a `_Stream`."""

    def __init__(self, pace: _Pace, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.fp = io.BufferedReader(_Stream(self.fp.detach(), pace))


class _Redirections(urllib.request.HTTPRedirectHandler):
    """Follows redirections without reading their bodies, which urllib would read."""

    def redirect_request(self, request, response, *arguments):
        response.close()
        return super().redirect_request(request, response, *arguments)


class _Handler(urllib.request.HTTPSHandler):
    """Opens http and https connections with a `_Response`."""

    http_request = urllib.request.HTTPSHandler.https_request

    def __init__(self, pace: _Pace):
        super().__init__()
        self._pace = pace

    def http_open(self, request):
        return self.do_open(http.client.HTTPConnection, request)

    def do_open(self, http_class, request, **arguments):
        def connection(*args, **keywords):
            new = http_class(*args, **keywords)
            new.response_class = functools.partial(_Response, self._pace)
            return new

        return super().do_open(connection, request, **arguments)
