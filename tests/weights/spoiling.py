"""Functions that spoil weights, and check that `get_model` refuses the weights."""

import json

import published_weights as made_weights
import pytest
from file_sources import present

import elu_zoo
from elu_zoo.weights import hdf5, manifest


def entry_path(path):
    """Returns the path of the entry of a weight file."""
    return path.with_name(path.name.removesuffix(manifest.SUFFIX) + ".json")


def change_entry(**changes):
    """Returns a function that changes fields, and their hash, of an entry's file."""

    def change(path):
        entry = json.loads(entry_path(path).read_text())
        changed = made_weights.signed({**entry, **changes})
        entry_path(path).write_text(json.dumps(changed))

    return change


def check_refused(run, home, monkeypatch, row):
    """Spoils weights, and checks that `get_model` raises an error and writes no file.

    Args:
        run: the path of the weights before they are spoilt.
        home: an empty $ELU_ZOO_HOME.
        monkeypatch: the fixture of pytest.
        row: tuple of a function of `run`, which spoils the weights and may return
            another path; the arguments of `get_model`; the class of the expected
            error; and the pattern of its message.
    """
    spoil, arguments, kind, message = row
    weights = spoil(run) or run
    before = present(run.parent.parent)
    monkeypatch.setattr(hdf5, "assign", lambda *_: pytest.fail("weights were assigned"))
    with pytest.raises(kind, match=message) as caught:
        elu_zoo.get_model(made_weights.MODEL, weights=weights, **arguments)
    assert type(caught.value) is kind
    assert str(caught.value).replace("\0", "").isprintable()
    assert present(run.parent.parent) == before and not home.exists()
