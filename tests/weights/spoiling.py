"""Checks that `get_model` refuses spoilt weights."""

import json

import published_weights as made_weights
import pytest
from file_sources import present

import elu_zoo
from elu_zoo.weights import manifest
from elu_zoo.weights.hdf5 import weight_file


def beside(path):
    """Returns the path of the entry of a weight file."""
    return path.with_name(path.name.removesuffix(manifest.SUFFIX) + ".json")


def entered(**changes):
    """Returns a function that changes fields of an entry."""

    def change(path):
        entry = json.loads(beside(path).read_text())
        beside(path).write_text(json.dumps({**entry, **changes}))

    return change


def check_refused(run, home, monkeypatch, row):
    """Spoils a run, and checks the error of `get_model` and that no file is written.

    Args:
        run: the path of good weights.
        home: an empty $ELU_ZOO_HOME.
        monkeypatch: the fixture.
        row: (function that spoils the path and may return another, arguments of
            `get_model`, class of the error, pattern of its message).
    """
    spoil, arguments, kind, message = row
    weights = spoil(run) or run
    there = present(run.parent.parent)
    monkeypatch.setattr(
        weight_file, "assign", lambda *_: pytest.fail("weights were assigned")
    )
    with pytest.raises(kind, match=message) as caught:
        elu_zoo.get_model(made_weights.MODEL, weights=weights, **arguments)
    assert type(caught.value) is kind
    assert str(caught.value).replace("\0", "").isprintable()
    assert present(run.parent.parent) == there and not home.exists()
