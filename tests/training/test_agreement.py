"""What machines tell each other, of which here is one and the answers of the others."""

import json
import re
import types

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import errors
from elu_zoo.training import peers

HOSTS = ["a:1", "b:2", "c:3"]


@pytest.fixture
def machine(monkeypatch):
    """Makes one of three machines, each with two devices, and what they answer."""

    def make(number, answers=None):
        task = {"type": "worker", "index": number}
        text = json.dumps({"cluster": {"worker": HOSTS}, "task": task})
        monkeypatch.setenv("TF_CONFIG", text)
        made = peers.Peers(types.SimpleNamespace(num_replicas_in_sync=6))
        asked = []

        def gathered(values):
            asked.append(values.numpy())
            rows = np.array([values] * 3) if answers is None else answers(values)
            return tf.constant(np.repeat(rows, 2, axis=0))

        monkeypatch.setattr(made, "_gathered", gathered)
        made.asked = asked
        return made

    return make


def test_the_same_everywhere(machine):
    one = machine(1)
    one.check_same({"the config": "abc", "--compile": None, "steps": 7})
    ((a, b, c),) = one.asked
    assert len({a, b, c}) == 3 and all(0 <= x < 2**56 for x in (a, b, c))


def test_what_differs_is_named(machine):
    def answers(values):
        rows = np.array([values] * 3)
        rows[2, [0, 2]] += 1
        return rows

    words = (
        "The machines differ in the config (here abc); the iteration (here 7). This is "
        "worker 1 (b:2). Start all of them"
    )
    with pytest.raises(errors.UsageError, match=re.escape(words)):
        machine(1, answers).check_same(
            {"the config": "abc", "--compile": None, "the iteration": 7}
        )


@pytest.mark.parametrize("number, expected", [(0, 15), (2, 15)])
def test_a_stop_of_any_is_a_stop_of_all(machine, number, expected):
    one = machine(number, lambda values: np.array([[0], [15], [0]]))
    assert one.stop(0) == expected
    assert machine(number).stop(0) == 0


def test_a_shared_folder(machine, tmp_path):
    chief = machine(0)
    chief.check_shared(tmp_path, chief=True)
    (nonce,), (seen,) = chief.asked
    assert 0 < nonce < 2**48 and seen == 1
    assert not list(tmp_path.iterdir())

    (tmp_path / ".shared-2a").touch()
    answers = iter([np.array([[42], [0], [0]]), np.ones((3, 1), int)])
    machine(2, lambda values: next(answers)).check_shared(tmp_path, chief=False)


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_that_is_not_shared(machine, tmp_path, monkeypatch, exists):
    monkeypatch.setattr(peers, "_SEEING_SECONDS", 0.3)
    own = tmp_path / "own"
    if exists:
        own.mkdir()
    answers = iter([np.array([[42], [0], [0]]), np.array([[1], [1], [0]])])
    one = machine(2, lambda values: next(answers))
    words = r"worker 2 \(c:3\) and the chief see different folders .*own"
    with pytest.raises(errors.UsageError, match=words):
        one.check_shared(own, chief=False)
    assert one.asked[1] == [0]
    assert own.exists() == exists


ABORTED = "Collective ops is aborted by: Socket closed\n Additional GRPC error"
TASKS = "from remote target /job:worker/replica:0/task:{} while calling"


@pytest.mark.parametrize(
    "message, named",
    [
        (f"{ABORTED} {TASKS.format(1)}", "worker 1 (b:2) stopped"),
        (f"{ABORTED} {TASKS.format(0)} {TASKS.format(2)}", "worker 2 (c:3) stopped"),
        (f"{ABORTED} from /job:worker/task:2: unhealthy", "worker 2 (c:3) stopped"),
        (ABORTED, "Another machine stopped"),
        (f"{ABORTED} {TASKS.format(0)}", "Another machine stopped"),
    ],
)
def test_a_lost_machine_is_named(machine, message, named):
    words = f"{re.escape(named)} answering.*start all machines again"
    with pytest.raises(errors.ResourceError, match=words), machine(0).guard():
        raise tf.errors.UnavailableError(None, None, message)


def test_other_errors_stay_what_they_are(machine):
    with pytest.raises(tf.errors.ResourceExhaustedError), machine(0).guard():
        raise tf.errors.ResourceExhaustedError(None, None, "OOM")
    with pytest.raises(KeyError), machine(0).guard():
        raise KeyError
