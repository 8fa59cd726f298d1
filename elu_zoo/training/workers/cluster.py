"""The machines of a run, as described by the environment variable TF_CONFIG."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elu_zoo import errors
from elu_zoo.training.workers import waiting


def read() -> dict[str, Any]:
    """Returns the value of TF_CONFIG, or {} if the variable is not set."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return {}
    try:
        cluster = json.loads(text)
        if type(cluster["task"]["index"]) is not int:
            raise TypeError(f"the index {cluster['task']['index']!r} is no integer")
        hosts = [host for kind in cluster["cluster"].values() for host in kind]
        wrong = [host for host in hosts if not re.fullmatch(r".+:\d{1,5}", host)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not host:port")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.UsageError(
            'TF_CONFIG must be JSON, such as {"cluster": {"worker": ["host:port", '
            '...]}, "task": {"type": "worker", "index": 0}}. Received: '
            f"{text!r} ({error!r})."
        ) from None
    return cluster


def tasks() -> int:
    """Returns the number of tasks in TF_CONFIG."""
    cluster = read()
    machines = cluster.get("cluster", {})
    count = sum(len(hosts) for hosts in machines.values())
    if machines:
        task = cluster["task"]
        hosts = machines.get(str(task.get("type")), [])
        if not 0 <= task["index"] < len(hosts):
            raise errors.UsageError(
                f"TF_CONFIG has the task {task}, but its cluster has {len(hosts)} "
                "task(s) of this type. Change the index or the cluster."
            )
    return count


def place() -> tuple[int, int]:
    """Returns this machine's number and the number of training machines.

    The chief has number 0, and numbers follow the order of TensorFlow's replicas.
    Without a cluster, the function returns (0, 1).
    """
    cluster = read()
    if tasks() <= 1:
        return 0, 1
    task = cluster["task"]
    names = list(addresses())
    own = f"{task.get('type')} {task['index']}"
    if own not in names:
        raise errors.UsageError(
            f"TF_CONFIG has the task {task}, which cannot train. Start training only "
            "in tasks of the types chief and worker."
        )
    return names.index(own), len(names)


def addresses() -> dict[str, str]:
    """Returns `host:port` of each training machine, by names such as `worker 0`."""
    machines = read().get("cluster", {})
    kinds = [kind for kind in ("chief", "master", "worker") if kind in machines]
    return {f"{k} {i}": host for k in kinds for i, host in enumerate(machines[k])}


class Alone:
    """The only machine of a run, with the methods of `peers.Peers`."""

    alone = True

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Does nothing."""

    def check_shared(self, workdir: Path, chief: bool) -> None:
        """Does nothing."""

    def stop(self, number: int) -> int:
        """Returns `number`, the signal that this machine received."""
        return number

    def together(self) -> contextlib.AbstractContextManager:
        """Returns a context that changes nothing."""
        return contextlib.nullcontext()

    def guard(self) -> contextlib.AbstractContextManager:
        """Returns a context that changes nothing."""
        return contextlib.nullcontext()


@contextlib.contextmanager
def await_peers() -> Iterator[None]:
    """Lets TensorFlow wait for other machines, but not longer than ten minutes.

    A watchdog process prints the missing machines, and ends this process by SIGALRM at
    the timeout. TensorFlow itself would wait for an hour without a message. The
    watchdog is a process, because no Python thread runs while TensorFlow waits.
    """
    number, _ = place()
    names = addresses()
    own = list(names)[number]
    _check_port(own, names.pop(own))
    others = [f"{name}={address}" for name, address in names.items()]
    command = [sys.executable, "-P", waiting.__file__, str(os.getpid()), *others]
    # In a new session, so that Ctrl-C does not end the watchdog before this process.
    with (
        _interruptible(),
        subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True),
    ):
        yield  # after the block, Popen closes the pipe, which ends the watchdog


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process at once, as TensorFlow delays Python's handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _check_port(name: str, address: str) -> None:
    port = int(address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise errors.ResourceError(
                f"TF_CONFIG has the address {address} for this machine ({name}), but "
                f"the port cannot be used: {error}. Stop the process that uses the "
                "port, or change the port in TF_CONFIG."
            ) from None
