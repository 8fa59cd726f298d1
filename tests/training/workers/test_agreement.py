"""Agreement of the machines of a run. The responses of other machines are fake."""

import contextlib
import json
import re
import types

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.training.record import signals
from elu_zoo.training.workers import cluster, peers

HOSTS = ["a:1", "b:2", "c:3"]


@pytest.fixture
def machine(monkeypatch):
    """A function that makes the `Peers` of one of three machines with two devices each.

    `respond` gets the values that this machine sends, which `sent` of the result lists, and
    returns the values of all three. By default all machines send equal values.
    """

    def make(number, respond=None):
        task = {"type": "worker", "index": number}
        text = json.dumps({"cluster": {"worker": HOSTS}, "task": task})
        monkeypatch.setenv("TF_CONFIG", text)
        peer = peers.Peers(types.SimpleNamespace(num_replicas_in_sync=6))
        sent = []

        def gathered(values):
            sent.append(values.numpy())
            rows = np.array([values] * 3) if respond is None else respond(values)
            return tf.constant(np.repeat(rows, 2, axis=0))

        monkeypatch.setattr(peer, "_gathered", gathered)
        peer.sent = sent
        return peer

    return make


def test_facts_are_sent_as_hashes_and_equal_facts_are_accepted(machine):
    peer = machine(1)
    peer.check_same({"the config": "abc", "--compile": None, "steps": 7})
    ((a, b, c),) = peer.sent
    assert len({a, b, c}) == 3 and all(0 <= x < 2**56 for x in (a, b, c))


def test_different_facts_are_named(machine):
    def respond(values):
        rows = np.array([values] * 3)
        rows[2, [0, 2]] += 1
        return rows

    words = (
        "The machines differ in the config (here abc); the iteration (here 7). This is "
        "worker 1 (b:2). Start all machines"
    )
    with pytest.raises(errors.UsageError, match=re.escape(words)):
        machine(1, respond).check_same({"the config": "abc", "--compile": None, "the iteration": 7})


def test_runs_compare_all_that_they_depend_on(smoke, train, tmp_path, monkeypatch):
    compared = []
    monkeypatch.setattr(cluster.OneMachine, "check_same", lambda _, facts: compared.append(facts))
    train(smoke({"train.epochs": 1}), tmp_path / "a")
    train(smoke({"train.epochs": 1, "seed": 1}), tmp_path / "b", steps_per_call=2)
    first, at_start, second, _ = compared
    assert {name for name in first if first[name] != second[name]} == {
        *("the config", "--compile, --steps_per_call and --accumulate")
    }
    assert {*first} - {*second} | {*at_start} == {"the images", "the iteration"}
    assert len(first) == 7 and first["versions"] and at_start["the images"]


@pytest.mark.parametrize("number, expected", [(0, 15), (2, 15)])
def test_a_signal_on_one_machine_stops_all_machines(machine, number, expected):
    peer = machine(number, lambda values: np.array([[0], [15], [0]]))
    assert peer.any_signal(0) == expected
    assert machine(number).any_signal(0) == 0


ABORTED = "Collective ops is aborted by: Socket closed\n Additional GRPC error"
TASKS = "from remote target /job:worker/replica:0/task:{} while calling"


@pytest.mark.parametrize(
    "message, named",
    [
        (f"{ABORTED} {TASKS.format(1)}", "worker 1 (b:2) stopped"),
        (f"{ABORTED} {TASKS.format(0)} {TASKS.format(2)}", "worker 2 (c:3) stopped"),
        (f"{ABORTED} from /job:worker/task:2: unhealthy", "worker 2 (c:3) stopped"),
        (f"{ABORTED} {TASKS.format(0)}", "Another machine stopped"),
    ],
)
def test_the_error_names_a_lost_machine(machine, message, named):
    words = f"{re.escape(named)} answering.*Start all machines again"
    with pytest.raises(errors.ResourceError, match=words), machine(0).guard():
        raise tf.errors.UnavailableError(None, None, message)


OOM = "OOM when allocating tensor on /job:worker/replica:0/task:0/device:GPU:0"


@pytest.mark.parametrize(
    "kind, message",
    [
        (tf.errors.ResourceExhaustedError, OOM),
        (tf.errors.InternalError, "at /job:localhost/replica:0/task:0/device:CPU:0"),
        (tf.errors.InvalidArgumentError, "Matrix size-incompatible"),
    ],
)
def test_errors_of_other_causes_are_raised_unchanged(machine, kind, message):
    error = kind(None, None, message)
    with pytest.raises(type(error)), machine(0).guard():
        raise error


@pytest.mark.parametrize(
    "code, expected", [(0, None), (1, signals.Stopped), (2, errors.TrainingError)]
)
def test_an_error_of_another_machine_ends_this_machine(machine, code, expected):
    peer = machine(1, lambda values: np.array([[code], [0], [0]]))
    raises = pytest.raises(expected) if expected else contextlib.nullcontext()
    with raises, peer.together():
        pass
    assert peer.sent == [[0]]


@pytest.mark.parametrize("error, code", [(signals.Stopped, 1), (OSError, 2)])
def test_an_error_of_this_machine_is_sent_as_a_code(machine, error, code):
    peer = machine(0)
    with pytest.raises(error), peer.together():
        raise error
    assert peer.sent == [[code]]
