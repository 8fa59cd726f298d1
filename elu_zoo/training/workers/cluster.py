"""Machines of a run, from the environment variable TF_CONFIG."""

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
    """Returns the value of TF_CONFIG, or {}.

    Raises:
        UsageError: it is invalid.
    """
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
            'TF_CONFIG is JSON: {"cluster": {"worker": ["host:port", ...]}, "task": '
            f'{{"type": "worker", "index": 0}}}}. Received: {text!r} ({error!r}).'
        ) from None
    return cluster


def tasks() -> int:
    """Returns the number of tasks in TF_CONFIG.

    Raises:
        UsageError: TF_CONFIG is invalid, or does not contain its own task.
    """
    cluster = read()
    machines = cluster.get("cluster", {})
    count = sum(len(hosts) for hosts in machines.values())
    if machines:
        task = cluster["task"]
        hosts = machines.get(str(task.get("type")), [])
        if not 0 <= task["index"] < len(hosts):
            raise errors.UsageError(
                f"TF_CONFIG says that this is task {task}, but its cluster has "
                f"{len(hosts)} of that type."
            )
    return count


def place() -> tuple[int, int]:
    """Returns this machine's number and the number of training machines.

    Without a cluster: (0, 1). The chief has number 0. Numbers have the order of
    TensorFlow's replicas.

    Raises:
        UsageError: TF_CONFIG is invalid, or this machine does not train.
    """
    cluster = read()
    if tasks() <= 1:
        return 0, 1
    task = cluster["task"]
    names = list(addresses())
    own = f"{task.get('type')} {task['index']}"
    if own not in names:
        raise errors.UsageError(
            f"TF_CONFIG says that this is task {task}. Only tasks of the types chief "
            "and worker train."
        )
    return names.index(own), len(names)


def addresses() -> dict[str, str]:
    """Returns `host:port` of each training machine, by names like `worker 0`."""
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
        """Returns the number of this machine's signal."""
        return number

    def together(self) -> contextlib.AbstractContextManager:
        """Returns a context that changes nothing."""
        return contextlib.nullcontext()

    def guard(self) -> contextlib.AbstractContextManager:
        """Returns a context that changes nothing."""
        return contextlib.nullcontext()


@contextlib.contextmanager
def await_peers() -> Iterator[None]:
    """Sets a timeout of ten minutes for TensorFlow's wait for the other machines.

    A watchdog process names the missing machines, and ends this process by SIGALRM at
    the timeout. TensorFlow itself would wait for an hour without a message, and no
    Python thread runs during its wait.

    Raises:
        ResourceError: this machine's port is in use.
    """
    number, _ = place()
    names = addresses()
    own = list(names)[number]
    _check_port(own, names.pop(own))
    others = [f"{name}={address}" for name, address in names.items()]
    command = [sys.executable, "-P", waiting.__file__, str(os.getpid()), *others]
    # In a new session, so that Ctrl-C does not end the watchdog first.
    with (
        _interruptible(),
        subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True),
    ):
        yield  # then the pipe is closed, which ends the watchdog


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Makes Ctrl-C end the process at once: Python's handler would not run."""
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
                f"TF_CONFIG says that this is {name} at {address}, and the port cannot "
                f"be used: {error}. Stop its user, or name another port."
            ) from None
