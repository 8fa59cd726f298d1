"""The machines of a run, as a cluster's launcher names them in TF_CONFIG."""

import json
import os
from typing import Any

from elu_zoo import errors


def read() -> dict[str, Any]:
    """Returns what TF_CONFIG says, {} where it is not set.

    Raises:
        UsageError: it cannot be read.
    """
    text = os.environ.get("TF_CONFIG")
    if not text:
        return {}
    try:
        cluster = json.loads(text)
        cluster["task"]["index"] + 0, cluster["cluster"].items()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.UsageError(
            'TF_CONFIG is JSON: {"cluster": {"worker": ["host:port", ...]}, "task": '
            f'{{"type": "worker", "index": 0}}}}. Received: {text!r} ({error!r}).'
        ) from None
    return cluster


def tasks() -> int:
    """Returns the number of tasks that TF_CONFIG names.

    Raises:
        UsageError: it cannot be read, or this process is none of them.
    """
    cluster = read()
    count = sum(len(hosts) for hosts in cluster.get("cluster", {}).values())
    if count:
        task = cluster["task"]
        hosts = cluster["cluster"].get(task.get("type"), [])
        if not 0 <= task["index"] < len(hosts):
            raise errors.UsageError(
                f"TF_CONFIG says that this is task {task}, but its cluster has "
                f"{len(hosts)} of that type."
            )
    return count


def place() -> tuple[int, int]:
    """Returns this machine's number and how many compute, (0, 1) without a cluster.

    The chief is the first. Machines are numbered as TensorFlow numbers replicas.

    Raises:
        UsageError: TF_CONFIG cannot be read, or this machine computes nothing.
    """
    cluster = read()
    if tasks() <= 1:
        return 0, 1
    kinds = [k for k in ("chief", "master", "worker") if k in cluster["cluster"]]
    machines = [(k, i) for k in kinds for i in range(len(cluster["cluster"][k]))]
    task = cluster["task"]
    own = task.get("type"), task["index"]
    if own not in machines:
        raise errors.UsageError(
            f"TF_CONFIG says that this is task {task}; training is done by tasks of "
            "the types chief and worker."
        )
    return machines.index(own), len(machines)
