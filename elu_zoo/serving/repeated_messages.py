"""Log filter that limits repeated warnings and errors to one a minute."""

import logging
import time

_SECONDS = 60.0


class RepeatedMessageFilter(logging.Filter):
    """Drops warnings and errors that repeat a message of the last minute.

    The content of malformed requests is removed from messages.
    """

    def __init__(self):
        super().__init__()
        # (logger, first line) -> (time when the minute ends, dropped messages).
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        error = record.exc_info[1] if record.exc_info else None
        if type(error).__module__ == "aiohttp.http_exceptions":
            # The text and the traceback contain the client's bytes.
            record.msg, record.args = f"{record.getMessage()}: malformed HTTP", None
            record.exc_info = None
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
