"""Watches a process that waits for other machines, and ends it when they do not come.

python waiting.py PID NAME=HOST:PORT...

It ends when its input does. It imports nothing of elu_zoo: a start takes milliseconds.
"""

import os
import select
import signal
import socket
import sys
import time

LIMIT_SECONDS = 600
SAYING_SECONDS = 30


def answers(address: str) -> bool:
    """Whether somebody listens at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def watch(
    pid: int,
    others: list[str],
    limit: float = LIMIT_SECONDS,
    saying: float = SAYING_SECONDS,
) -> None:
    """Says every while which machines do not answer; at the limit ends the process.

    Args:
        pid: of the process that waits; it gets SIGALRM.
        others: `name=host:port` of the machines it waits for.
        limit: seconds until then.
        saying: seconds between two lines.
    """
    began = time.monotonic()
    while not select.select([sys.stdin], [], [], saying)[0]:
        waited = time.monotonic() - began
        named = [other.partition("=") for other in others]
        silent = [f"{name} ({host})" for name, _, host in named if not answers(host)]
        missing = ", ".join(silent) or "none; they have not joined yet"
        text = f"After {waited:.0f} s these machines do not answer: {missing}."
        if waited < limit:
            print(f"waiting: {text}", file=sys.stderr, flush=True)
            continue
        advice = "Start all machines, each with its own task of the same TF_CONFIG."
        print(f"error: {text} {advice}", file=sys.stderr, flush=True)
        os.kill(pid, signal.SIGALRM)
        return


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2:])
