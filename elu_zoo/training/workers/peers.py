"""Coordination of the machines of a run, by TensorFlow's collective operations."""

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.training.record import signals
from elu_zoo.training.workers import cluster

_FAILED, _STOPPED = 2, 1  # how a block of `together` ended; 0: success
_LOST_MACHINE_ERRORS = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)


class Peers:
    """Methods by which the machines of a run act together.

    All machines must call each method, except `guard`, at the same point of the run.
    The errors of these methods are raised on all machines. `index` is 0 for the chief.
    """

    def __init__(self, strategy: tf.distribute.MultiWorkerMirroredStrategy):
        self._strategy = strategy
        self._names = list(cluster.addresses())
        self._addresses = list(cluster.addresses().values())
        self.index, self.count = cluster.machine_index()
        self._local = strategy.num_replicas_in_sync // self.count

        @tf.function
        def gathered(values):
            rows = strategy.run(lambda: tf.identity(values)[tf.newaxis])
            return strategy.gather(rows, axis=0)

        self._gathered = gathered

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Checks that values, by name, are equal on all machines."""
        texts = [str(value).encode() for value in facts.values()]
        digests = [hashlib.sha256(text).digest()[:7] for text in texts]  # fit int64
        rows = self._gather([int.from_bytes(digest) for digest in digests])
        differing = [
            f"{name} (here {value})"
            for (name, value), column in zip(facts.items(), rows.T, strict=True)
            if len(set(column)) > 1
        ]
        if differing:
            raise errors.UsageError(
                f"The machines differ in {'; '.join(differing)}. This is {self._name(self.index)}. "
                "Start all machines with the same command on a shared disk."
            )

    def any_signal(self, number: int) -> int:
        """Returns the number of the signal that any machine received, or 0."""
        return int(self._gather([number]).max())

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Runs a `with` block in which one machine writes, and waits for all machines."""
        failed = _FAILED
        try:
            yield
            failed = 0
        except signals.Stopped:
            failed = _STOPPED
            raise
        finally:
            worst = int(self._gather([failed]).max())
            if not failed and worst == _STOPPED:
                raise signals.Stopped
            if not failed and worst:
                raise errors.TrainingError(
                    "Another machine could not save the run. Fix the error that it "
                    "printed, and start all machines again."
                )

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Converts TensorFlow's errors about a lost machine to `ResourceError`."""
        try:
            yield
        except _LOST_MACHINE_ERRORS as error:
            others = self._others(error.message)
            if not others and "ollective" not in error.message:  # C or c
                raise
            raise errors.ResourceError(
                f"{others[0] if others else 'Another machine'} stopped answering. Start all "
                "machines again, which resume from the newest checkpoint if there is one. If this "
                "happens at the start, compare the lists of machines in TF_CONFIG."
            ) from error

    def _others(self, message: str) -> list[str]:
        """Returns the other machines that the message of a TensorFlow error names."""
        tasks = re.findall(r"/job:(\w+)(?:/replica:0)?/task:(\d+)", message)
        names = [f"{kind} {index}" for kind, index in tasks]
        indices = [self._names.index(name) for name in names if name in self._names]
        return [self._name(index) for index in indices if index != self.index]

    def _name(self, index: int) -> str:
        return f"{self._names[index]} ({self._addresses[index]})"

    def _gather(self, values: Sequence[int]) -> np.ndarray:
        """Returns the values of each machine: `(machines, values)`."""
        tensor = tf.constant(np.asarray(values, np.int64))
        return self._gathered(tensor).numpy()[:: self._local]  # one row per machine
