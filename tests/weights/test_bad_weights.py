"""`get_model` refuses bad weight files, and good ones whose entry is bad."""

import contextlib
import copy
import json
import math
import os
import random

import numpy as np
import published_weights as made_weights
import pytest
from weight_files import present

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.weights import hdf5, manifest

MODEL = made_weights.MODEL
STATISTICS = b"no statistics at all"
NAME = f"x_zca-{files.sha256(STATISTICS)[:16]}"
NOT_FOUND, USAGE, CORRUPT = errors.NotFoundError, errors.UsageError, errors.CorruptError
RESOURCE = errors.ResourceError


def entry_path(path):
    return path.with_name(path.name.removesuffix(manifest.SUFFIX) + ".json")


# The functions below return a function that spoils the weights or the entry at a path.
def entry_with(signed=True, **changes):
    """Changes fields of an entry, by default with the hash of its fields."""

    def change(path):
        changed = {**json.loads(entry_path(path).read_text()), **changes}
        changed = made_weights.signed(changed) if signed else changed
        entry_path(path).write_text(json.dumps(changed))

    return change


def arguments_with(signed=True, **changes):
    def change(path):
        arguments = json.loads(entry_path(path).read_text())["arguments"]
        entry_with(signed, arguments={**arguments, **changes})(path)

    return change


def statistics(name, content=STATISTICS):
    def change(path):
        entry_with(preprocessing={"kind": "gcn_zca", "statistics": name})(path)
        path.with_name(f"{NAME}.npz").write_bytes(content)

    return change


def outcome(tag):
    def change(path):
        entry = json.loads(entry_path(path).read_text())
        (path.parent / "outcome.json").write_text(json.dumps({**entry, "tag": tag}))
        return path.parent

    return change


def with_kind(make):
    def change(path):
        path.unlink()
        make(path)

    return change


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def folder_alone(path):
    entry_path(path).unlink()
    with_kind(os.mkdir)(path)


def another_activation(path):
    """Writes the weights of a network with ReLU, which have the same shapes."""
    path.write_bytes(made_weights.make(activation="relu")[1])


# case: (function that spoils weights and may return another path to load, class of the
# expected error, word of its message).
ROWS = {
    "missing": (
        lambda p: p.with_name(p.name.replace("elu-", "elo-")), NOT_FOUND, "Did you mean .*elu-"
    ),
    "an entry without its file": (lambda p: p.unlink(), NOT_FOUND, "no file .*run"),
    "an unknown user": (lambda p: "~nobody_/x.weights.h5", RESOURCE, "home dir"),
    "a long name": (lambda p: f"/{'x' * 999}.weights.h5", RESOURCE, "too long"),
    "a missing folder": (lambda p: p.parent / "no/x.weights.h5", NOT_FOUND, "in .*/run: mnist"),
    "a zero byte": (lambda p: "/x\0.weights.h5", NOT_FOUND, "no file"),
    "a folder": (folder_alone, USAGE, "folder with 0"),
    "a named pipe": (with_kind(os.mkfifo), CORRUPT, "named pipe"),
    "one bit": (flip_bit, CORRUPT, "SHA-256 is .*Delete"),
    "weights of ReLU": (another_activation, CORRUPT, "damaged or another"),
    "an edited alpha": (
        arguments_with(False, activation={"name": "elu", "alpha": 0.3}), CORRUPT, "edited"
    ),
    "another activation": (arguments_with(activation={"name": "relu"}), CORRUPT, "contradicts"),
    "another data set": (entry_with(dataset="../../etc"), CORRUPT, "contradicts"),
    "outcome in another folder": (outcome("../other/x"), CORRUPT, "outcome.json is"),
    "outcome of another run": (outcome("x.mnist_elu-00000000"), CORRUPT, "contradicts"),
    "large entry": (
        lambda p: entry_path(p).write_bytes(b" " * (5 << 20)) and None, CORRUPT, "at most"
    ),
    "network larger than its file": (arguments_with(width=1e6), USAGE, "another network"),
    "infinite network": (arguments_with(width=1e308), CORRUPT, "cannot be built"),
    "another file as an argument": (arguments_with(weights="/etc/passwd"), USAGE, "'weights'"),
    "object as an argument": (
        arguments_with(activation={"name": "elu", "alpha": {"class_name": "x"}}), USAGE, "alpha"
    ),
    "statistics in another folder": (statistics(f"../{NAME}"), NOT_FOUND, "statistics"),
    "damaged statistics": (statistics(NAME, b"?"), CORRUPT, "SHA-256"),
    "large statistics": (
        statistics(NAME, bytes((1 << 27) + 1)), CORRUPT, "at most"
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_bad_weights_are_refused_before_they_are_assigned(run, home, monkeypatch, row):
    spoil, kind, word = ROWS[row]
    weights = spoil(run) or run
    before = present(run.parent.parent)
    monkeypatch.setattr(hdf5, "assign", lambda *_: pytest.fail("weights were assigned"))
    with pytest.raises(kind, match=word) as caught:
        elu_zoo.get_model(MODEL, weights=weights)
    assert type(caught.value) is kind
    assert str(caught.value).replace("\0", "").isprintable()
    assert present(run.parent.parent) == before and not home.exists()


TEXTS = "", "elu", "relu", "../../x", "/etc/passwd", "\x1b[2J", "\0", "\ud800", "9" * 300
NUMBERS = -1, 0, 0.5, 3, 1e9, 10**30, 1e308, math.inf, math.nan, -0.0
VALUES = (*TEXTS, *NUMBERS, None, True, [], [3], ["relu"], {}, {"a": 1})


def with_a_change(entry, generator):
    """Returns a copy of an entry in which one field was changed or deleted."""
    parent = copied = copy.deepcopy(entry)
    key = generator.choice(sorted(parent))
    while isinstance(parent[key], dict) and parent[key] and generator.random() < 0.5:
        parent = parent[key]
        key = generator.choice(sorted(parent))
    parent[key] = generator.choice(VALUES)
    if generator.random() < 0.25:
        del parent[key]
    return copied


@pytest.mark.parametrize(
    "count", [30, pytest.param(2000, marks=[pytest.mark.slow, pytest.mark.nightly])]
)
def test_changed_entries_raise_an_error_or_load_the_right_weights(run, run_parts, count):
    entry, _, trained = run_parts
    generator, loaded = random.Random(count), 0
    for _ in range(count):
        changed = with_a_change(entry, generator)
        with contextlib.suppress(KeyError):  # a field that the hash needs was deleted
            changed = made_weights.signed(changed)
        entry_path(run).write_text(json.dumps(changed))
        with contextlib.suppress(errors.EluZooError):
            model = elu_zoo.get_model(MODEL, weights=run)
            for value, exact in zip(model.get_weights(), trained.get_weights(), strict=True):
                np.testing.assert_array_equal(value, exact.astype(np.float16))
            loaded += 1
    assert 0 < loaded < count
