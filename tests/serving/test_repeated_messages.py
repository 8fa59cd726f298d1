import logging

import pytest

from elu_zoo.serving import repeated_messages
from elu_zoo.serving.repeated_messages import RepeatedMessageFilter


@pytest.fixture
def log(monkeypatch):
    """Logs a message at a second; returns its text, or None if it is dropped."""
    now = [0.0]
    monkeypatch.setattr(repeated_messages.time, "monotonic", lambda: now[0])
    made = RepeatedMessageFilter()

    def log(second, message, *arguments, level=logging.ERROR, name="asyncio"):
        now[0] = second
        record = logging.LogRecord(name, level, "", 0, message, arguments, None)
        return record.getMessage() if made.filter(record) else None

    log.filter = made
    return log


def test_equal_messages_pass_once_a_minute(log):
    assert log(0, "out of %s\nfd 1", "files") == "out of files\nfd 1"
    again = [log(i / 10, "out of files\nfd %d", i) for i in range(1, 500)]
    assert again == [None] * 499
    assert log(61, "out of files\nfd 3") == "out of files\nfd 3 (and 499 times before)"
    assert log(200, "out of files") == "out of files"


def test_different_messages_pass(log):
    assert log(0, "a") == "a"
    assert log(1, "b") == "b"
    assert log(2, "a", name="aiohttp.server") == "a"
    assert [log(3, "c", level=logging.INFO) for _ in range(2)] == ["c", "c"]


def test_old_messages_are_forgotten(log):
    for i in range(1000):
        assert log(i, "%d", i) == str(i)
    assert len(log.filter._seen) <= 61
