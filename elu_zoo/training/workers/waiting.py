"""Watchdog of a process that waits for other machines.

python waiting.py PID NAME=HOST:PORT...

The watchdog ends when its standard input is closed. It does not import elu_zoo, because
the import takes time.
"""

import os
import select
import signal
import socket
import sys
import time

LIMIT_SECONDS = 600
INTERVAL_SECONDS = 30


def answers(address: str) -> bool:
    """Whether a process listens at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def watch(
    pid: int, others: list[str], limit: float = LIMIT_SECONDS, interval: float = INTERVAL_SECONDS
) -> None:
    """Prints missing machines at intervals, and ends a process at the timeout.

    Args:
        pid: number of the waiting process, which receives SIGALRM.
        others: `name=host:port` of the machines for which the process waits.
        limit: seconds until SIGALRM.
        interval: seconds between two messages.
    """
    began = time.monotonic()
    while not select.select([sys.stdin], [], [], interval)[0]:
        waited = time.monotonic() - began
        named = [other.partition("=") for other in others]
        silent = [f"{name} ({host})" for name, _, host in named if not answers(host)]
        missing = ", ".join(silent) or "none, but some have not joined yet"
        text = f"After {waited:.0f} s these machines do not answer: {missing}."
        if waited < limit:
            print(f"waiting: {text}", file=sys.stderr, flush=True)
            continue
        advice = "Start all machines, with the same cluster in TF_CONFIG."
        print(f"error: {text} {advice}", file=sys.stderr, flush=True)
        os.kill(pid, signal.SIGALRM)
        return


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2:])
