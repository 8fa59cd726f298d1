"""RepeatedMessageFilter drops equal log messages for a minute and counts them."""

import logging

import pytest
from aiohttp import http_exceptions

from elu_zoo.serving import repeated_messages
from elu_zoo.serving.repeated_messages import RepeatedMessageFilter


@pytest.fixture
def log(monkeypatch):
    """Returns a function that logs a message and returns the logged text, or None."""
    now = [0.0]
    monkeypatch.setattr(repeated_messages.time, "monotonic", lambda: now[0])
    message_filter = RepeatedMessageFilter()

    def log(second, message, *arguments, level=logging.ERROR, name="asyncio"):
        now[0] = second
        record = logging.LogRecord(name, level, "", 0, message, arguments, None)
        return record.getMessage() if message_filter.filter(record) else None

    log.filter = message_filter
    return log


def test_equal_messages_are_logged_once_a_minute(log):
    assert log(0, "out of %s\nfd 1", "files") == "out of files\nfd 1"
    repetitions = [log(i / 10, "out of files\nfd %d", i) for i in range(1, 500)]
    assert repetitions == [None] * 499
    assert log(61, "out of files\nfd 3") == "out of files\nfd 3 (and 499 times before)"
    assert log(200, "out of files") == "out of files"


def test_different_messages_are_logged(log):
    assert log(0, "a") == "a"
    assert log(1, "b") == "b"
    assert log(2, "a", name="aiohttp.server") == "a"
    assert [log(3, "c", level=logging.INFO) for _ in range(2)] == ["c", "c"]


def test_the_bytes_of_a_malformed_request_are_not_logged():
    error = http_exceptions.BadHttpMessage("Pause on PRI/Upgrade: b'secret'")
    exc_info = type(error), error, None
    record = logging.LogRecord(
        "aiohttp.server", logging.ERROR, "", 0, "Error from %s", ("::1",), exc_info
    )
    assert RepeatedMessageFilter().filter(record)
    assert logging.Formatter().format(record) == "Error from ::1: malformed HTTP"


def test_old_messages_are_forgotten(log):
    for i in range(1000):
        assert log(i, "%d", i) == str(i)
    assert len(log.filter._seen) <= 61
