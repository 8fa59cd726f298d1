"""Warnings and errors that repeat, logged once a minute."""

import logging
import time

_SECONDS = 60.0


class RepeatedMessages(logging.Filter):
    """Holds back what equals a warning or error of the last minute, and counts it."""

    def __init__(self):
        super().__init__()
        # By logger and first line: until when equal ones are held back, and how many
        # were.
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        text, now = record.getMessage(), time.monotonic()
        key = record.name, text.partition("\n")[0]
        end, count = self._seen.get(key, (now, 0))
        if now < end:
            self._seen[key] = end, count + 1
            return False
        # A copy, as other threads may log at the same time.
        self._seen = {k: seen for k, seen in self._seen.copy().items() if now < seen[0]}
        self._seen[key] = now + _SECONDS, 0
        if count:
            record.msg, record.args = f"{text} (and {count:,} times before)", None
        return True
