"""Machines of a run, as a cluster's launcher names them in TF_CONFIG."""

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
    """Returns the value of TF_CONFIG, {} where it is not set.

    Raises:
        UsageError: it cannot be read.
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
    """Returns the number of tasks that TF_CONFIG names.

    Raises:
        UsageError: it cannot be read, or does not name this process.
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
    """Returns this machine's number and the number of machines that compute.

    They are (0, 1) without a cluster. The chief is number 0, and the order is that of
    TensorFlow's replicas.

    Raises:
        UsageError: TF_CONFIG cannot be read, or this machine computes nothing.
    """
    cluster = read()
    if tasks() <= 1:
        return 0, 1
    task = cluster["task"]
    names = list(addresses())
    own = f"{task.get('type')} {task['index']}"
    if own not in names:
        raise errors.UsageError(
            f"TF_CONFIG says that this is task {task}; training is done by tasks of "
            "the types chief and worker."
        )
    return names.index(own), len(names)


def addresses() -> dict[str, str]:
    """Returns `host:port` of each machine that computes, by names like `worker 0`."""
    machines = read().get("cluster", {})
    kinds = [kind for kind in ("chief", "master", "worker") if kind in machines]
    return {f"{k} {i}": host for k in kinds for i, host in enumerate(machines[k])}


class Alone:
    """The machine of a run without others, with the methods of `peers.Peers`."""

    alone = True

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Does nothing, as there is no other machine."""

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
def gathering() -> Iterator[None]:
    """Limits the time of a block in which TensorFlow waits for the other machines.

    After ten minutes the process names the missing machines and ends by SIGALRM.
    TensorFlow itself waits for an hour in silence, and no Python thread runs meanwhile,
    so that another process keeps the time.

    Raises:
        ResourceError: this machine's own port is in use.
    """
    number, _ = place()
    names = addresses()
    own = list(names)[number]
    _check_port(own, names.pop(own))
    others = [f"{name}={address}" for name, address in names.items()]
    command = [sys.executable, "-P", waiting.__file__, str(os.getpid()), *others]
    # In another session, so that Ctrl-C does not end it before the watched process.
    with (
        _interruptible(),
        subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True),
    ):
        yield  # then the pipe is closed, which ends the watching process


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process at once, as Python's handler would not run."""
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
                f"TF_CONFIG says that this is {name} at {address}, and its port cannot "
                f"be used: {error}. Stop what uses it, or name another port."
            ) from None
