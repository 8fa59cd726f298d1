"""Good weights alone in a folder, to be spoilt, and what has to come of it."""

import json
import re

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
    """Changes the entry, which then tells something else of the same file."""

    def change(path):
        entry = json.loads(beside(path).read_text())
        beside(path).write_text(json.dumps({**entry, **changes}))

    return change


def with_arguments(**changes):
    def change(path):
        entry = json.loads(beside(path).read_text())
        entered(arguments={**entry["arguments"], **changes})(path)

    return change


def check_refused(run, home, monkeypatch, row):
    """Spoils a run, and checks what `get_model` says of it, and leaves.

    Args:
        run: the path of good weights.
        home: where nothing is yet.
        monkeypatch: of the test.
        row: (what to do with the path, which may return another; more arguments; the
            error's class; a pattern of its message).
    """
    spoil, arguments, kind, message = row
    weights = run
    if spoil:
        weights = spoil(run) or run
    there = present(run.parent.parent)
    monkeypatch.setattr(
        weight_file, "assign", lambda *_: pytest.fail("weights were assigned")
    )
    with pytest.raises(kind, match=message) as caught:
        elu_zoo.get_model(made_weights.MODEL, weights=weights, **arguments)
    assert type(caught.value) is kind
    assert re.sub("\0", "", str(caught.value)).isprintable()
    assert present(run.parent.parent) == there and not home.exists()
