"""Log filter that limits repeated warnings and errors to one a minute."""

import logging
import time

_SECONDS = 60.0


class RepeatedMessageFilter(logging.Filter):
    """Drops warnings and errors that repeat a message of the last minute."""

    def __init__(self):
        super().__init__()
        # (logger, first line) -> (time when the minute ends, dropped messages).
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
        # Iterates over a copy, because other threads may log at the same time.
        self._seen = {k: seen for k, seen in self._seen.copy().items() if now < seen[0]}
        self._seen[key] = now + _SECONDS, 0
        if count:
            record.msg, record.args = f"{text} (and {count:,} times before)", None
        return True
