"""The machines of a run, as described by the environment variable TF_CONFIG."""

import contextlib
import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from absl import logging

from elu_zoo import errors

_WAIT_SECONDS = 600  # for the other machines


def read() -> dict[str, Any]:
    """Returns the value of TF_CONFIG, or {} if the variable is not set."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return {}
    try:
        config = json.loads(text)
        machines, index = config["cluster"], config["task"]["index"]
        if type(index) is not int:
            raise TypeError(f"the index {index!r} is no integer")
        hosts = [host for kind in machines.values() for host in kind]
        wrong = [host for host in hosts if not re.fullmatch(r".+:\d{1,5}", host)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not host:port")
        tasks = len(machines.get(str(config["task"].get("type")), []))
        if machines and not 0 <= index < tasks:
            raise ValueError(
                f"its cluster has {tasks} task(s) of this type; change the index or the cluster"
            )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.UsageError(
            'TF_CONFIG must be JSON, such as {"cluster": {"worker": ["host:port", '
            '...]}, "task": {"type": "worker", "index": 0}}. Received: '
            f"{text!r} ({error!r})."
        ) from None
    return config


def tasks() -> int:
    """Returns the number of tasks in TF_CONFIG."""
    return sum(len(hosts) for hosts in read().get("cluster", {}).values())


def machine_index() -> tuple[int, int]:
    """Returns this machine's index, in the order of replicas, and the number of machines."""
    if tasks() <= 1:
        return 0, 1
    task, names = read()["task"], list(addresses())
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


class OneMachine:
    """The only machine of a run, with the methods of `peers.Peers`."""

    index, count = 0, 1

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Does nothing."""

    def any_signal(self, number: int) -> int:
        """Returns `number`, the signal that this machine received."""
        return number

    together = guard = staticmethod(contextlib.nullcontext)


@contextlib.contextmanager
def limited_wait() -> Iterator[None]:
    """Ends the process by SIGALRM if the other machines do not join within the block.

    TensorFlow itself waits for an hour without a message. The system ends the process,
    because no Python code runs while TensorFlow waits.
    """
    names = addresses()
    own = list(names)[machine_index()[0]]
    _check_port(own, names.pop(own))
    others = ", ".join(f"{name} ({address})" for name, address in names.items())
    if others:
        logging.info(
            "Waiting for %s. This process ends (SIGALRM) if a machine has not joined "
            "within %d minutes.",
            others,
            _WAIT_SECONDS // 60,
        )
    # TensorFlow would also delay Python's handlers, of Ctrl-C and of the alarm.
    numbers = (signal.SIGINT, signal.SIGALRM)
    in_main_thread = threading.current_thread() is threading.main_thread()
    handlers = {n: signal.signal(n, signal.SIG_DFL) for n in numbers if in_main_thread}
    earlier_alarm = signal.alarm(_WAIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(earlier_alarm)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _check_port(name: str, address: str) -> None:
    port = int(address.rpartition(":")[2])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except (OSError, OverflowError) as error:
            raise errors.ResourceError(
                f"TF_CONFIG has the address {address} for this machine ({name}), but "
                f"the port cannot be used: {error}. Stop the process that uses the "
                "port, or change the port in TF_CONFIG."
            ) from None
