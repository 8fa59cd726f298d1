"""`get_model` refuses good weights whose entry is bad."""

import json

import published_weights as made_weights
import pytest
from spoiling import change_entry, check_refused, entry_path

import elu_zoo
from elu_zoo import errors, files
from elu_zoo.weights import fetch, manifest

MODEL = made_weights.MODEL
STATISTICS = b"no statistics at all"
NAME = f"x_zca-{files.sha256(STATISTICS)[:16]}"
NOT_FOUND, USAGE, CORRUPT = errors.NotFoundError, errors.UsageError, errors.CorruptError


def with_arguments(**changes):
    def change(path):
        entry = json.loads(entry_path(path).read_text())
        change_entry(arguments={**entry["arguments"], **changes})(path)

    return change


def with_statistics(name, content=STATISTICS):
    def change(path):
        change_entry(preprocessing={"kind": "gcn_zca", "statistics": name})(path)
        path.with_name(f"{NAME}.npz").write_bytes(content)

    return change


def with_entry(content):
    def change(path):
        entry_path(path).write_bytes(content)

    return change


def link_to_entry(path):
    target = path.parent.parent / "entry.json"
    entry_path(path).rename(target)
    entry_path(path).symlink_to(target)


def outcome_with_tag(tag):
    """Returns a function that writes a tag to the outcome of the run."""

    def change(path):
        entry = json.loads(entry_path(path).read_text())
        (path.parent / "outcome.json").write_text(json.dumps({**entry, "tag": tag}))
        return path.parent

    return change


def edit_alpha(path):
    """Changes alpha without changing the hash of the fields."""
    entry = json.loads(entry_path(path).read_text())
    entry["arguments"]["activation"]["alpha"] = 0.3
    entry_path(path).write_text(json.dumps(entry))


# case: (function that spoils the entry of weights, arguments of `get_model`, class of
# the expected error, pattern of its message).
ROWS = {
    "an edited alpha": (edit_alpha, {}, CORRUPT, "json was edited: its mean"),
    "another activation": (
        with_arguments(activation={"name": "relu"}), {}, CORRUPT,
        "contradicts itself: its tag is .*_elu-.*, but .*activation.* is .*_relu-",
    ),
    "another data set": (
        change_entry(dataset="../../etc"), {}, CORRUPT,
        "contradicts itself.*[.][.]/etc_elu",
    ),
    "entry that is a link": (link_to_entry, {}, CORRUPT, "json is a link out of its"),
    "tag with a folder": (change_entry(tag="../../etc/x"), {}, CORRUPT, "tag must be"),
    "outcome in another folder": (outcome_with_tag("../other/x"), {}, CORRUPT, "outcome.json is"),
    "outcome of another run": (outcome_with_tag("x.mnist_elu-00000000"), {}, CORRUPT, "contra"),
    "large entry": (
        with_entry(b" " * (5 << 20)), {}, CORRUPT, "5242880 bytes; an entry has at most"
    ),
    "deep entry": (with_entry(b'{"x":' * 2000 + b"1" + b"}" * 2000), {}, CORRUPT, "not JSON"),
    "network larger than its file": (
        with_arguments(width=1e6), {}, CORRUPT, r"too few for the 11468\d+ weights"
    ),
    "infinite network": (
        with_arguments(width=1e308), {}, CORRUPT, "cannot be built from the entry"
    ),
    "another file as an argument": (
        with_arguments(weights="/etc/passwd"), {}, USAGE, "Unknown argument .*'weights'"
    ),
    "object as an argument": (
        with_arguments(activation={"name": "elu", "alpha": {"class_name": "Lambda"}}),
        {}, USAGE, "alpha must be a finite number > 0",
    ),
    "statistics in another folder": (
        with_statistics(f"../{NAME}"), {}, NOT_FOUND, "no whitening statistics '../x_"
    ),
    "damaged statistics": (
        with_statistics(NAME, b"?"), {}, CORRUPT, "npz is damaged .*its SHA-256 is"
    ),
    "large statistics": (
        with_statistics(NAME, bytes(fetch._STATISTICS_BYTES + 1)), {}, CORRUPT,
        "32000001 bytes; a file of statistics has at most",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_bad_entries_are_refused(run, home, monkeypatch, row):
    check_refused(run, home, monkeypatch, ROWS[row])


# field of a published entry: function that edits this field beside a weight file.
CHANGES = {
    "arguments": with_arguments(activation={"name": "elu", "alpha": 0.5}),
    "preprocessing": change_entry(preprocessing={"kind": "rescale", "scale": 1.0}),
    "classes": change_entry(classes=list("9876543210")),
    "config": change_entry(config={"train": {"loss": "half_squared_error"}}),
}


@pytest.mark.parametrize("field", CHANGES)
def test_edited_published_entries_are_refused(run, run_parts, monkeypatch, field):
    tag = run_parts[0]["tag"]
    monkeypatch.setattr(manifest, "published", lambda: {tag: run_parts[0]})
    elu_zoo.get_model(MODEL, weights=run)
    CHANGES[field](run)
    with pytest.raises(
        errors.CorruptError, match=f"differs from the published entry {tag} in {field}. Delete"
    ):
        elu_zoo.get_model(MODEL, weights=run)
