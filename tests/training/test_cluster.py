import json

import pytest

from elu_zoo.training import cluster

PAIR = {"worker": ["a:1", "b:1"]}
LED = {"chief": ["c:1"], **PAIR}
MASTERED = {"worker": ["a:1"], "master": ["m:1"]}
MEASURED = {**LED, "evaluator": ["e:1"]}


@pytest.mark.parametrize(
    ("machines", "kind", "index", "expected"),
    [
        ({"worker": ["a:1"]}, "worker", 0, (0, 1)),
        ({"chief": ["a:1"]}, "chief", 0, (0, 1)),
        (PAIR, "worker", 0, (0, 2)),
        (PAIR, "worker", 1, (1, 2)),
        (LED, "chief", 0, (0, 3)),
        (LED, "worker", 0, (1, 3)),
        (LED, "worker", 1, (2, 3)),
        ({**PAIR, "chief": ["c:1"]}, "worker", 0, (1, 3)),
        (MASTERED, "master", 0, (0, 2)),
        (MASTERED, "worker", 0, (1, 2)),
        (MEASURED, "worker", 1, (2, 3)),
    ],
)
def test_place(monkeypatch, machines, kind, index, expected):
    task = {"type": kind, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": machines, "task": task}))
    assert cluster.place() == expected


@pytest.mark.parametrize("text", [None, "", '{"cluster": {}, "task": {"index": 0}}'])
def test_place_without_a_cluster(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert cluster.place() == (0, 1)
