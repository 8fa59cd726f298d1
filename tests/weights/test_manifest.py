"""Entries of the manifest are checked, and the default entry is chosen by rank."""

import math

import published_weights as made_weights
import pytest

from elu_zoo import errors
from elu_zoo.weights import manifest


@pytest.fixture(scope="module")
def entry():
    return made_weights.make()[0]


def test_a_tag_contains_the_variant():
    arguments = {"activation": {"name": "relu"}, "batch_norm": True}
    tag = manifest.tag("net", "mnist", arguments, "0123456789abcdef")
    assert tag == "net.mnist_relu_bn-01234567"


ARGUMENTS = {"activation": {"name": "elu"}, "batch_norm": False}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"format": 2}, "format 2, .*Upgrade"),
        ({"format": None}, "format None"),
        *(({"tag": x}, "tag") for x in ("", "../x", "a\\b", ".x", "a\0", "a" * 201, 3)),
        *(({"sha256": x}, "sha256") for x in ("", "a" * 65, "A" * 64, "a" * 64 + "\n", 3)),
        *(({"arguments": x}, "activation") for x in (3, {}, {"activation": "elu"})),
        ({"arguments": ARGUMENTS | {"activation": {"name": 1}}}, "activation"),
        ({"arguments": ARGUMENTS | {"batch_norm": 1}}, "batch_norm"),
        ({"arguments": ARGUMENTS | {"num_classes": 3}}, "num_classes"),
        *(({field: 3}, field) for field in ("model", "dataset", "sources", "classes")),
        ({"sources": [3]}, "sources"),
        ({"classes": "x" * 10**6}, "classes"),
        ({"preprocessing": {}}, "preprocessing"),
        *(({"calibration": {"temperature": x}}, "temperature") for x in (0, 1e99, math.nan, "")),
        *(({"config": x}, "train.loss") for x in ("", {}, {"train": {"loss": "hinge"}})),
        ({"dataset": "fashion"}, "contradicts itself"),
    ],
)
def test_a_damaged_entry_is_refused(entry, changes, word):
    with pytest.raises(errors.CorruptError, match=f"^here .*{word}"):
        manifest.check(made_weights.signed({**entry, **changes}), "here")


def test_an_entry_without_a_field_is_refused(entry):
    for incomplete in ({k: v for k, v in entry.items() if k != "config"}, []):
        with pytest.raises(errors.CorruptError, match="here (lacks config|is not the entry)"):
            manifest.check(incomplete, "here")


CHANGED = {"model": "x", "dataset": "x", "arguments": ARGUMENTS, "preprocessing": {"kind": ""}}
CHANGED |= {"classes": ["x"] * 10, "sha256": "0" * 64}
CHANGED["config"] = {"train": {"loss": "half_squared_error"}}


@pytest.mark.parametrize("field", CHANGED)
def test_an_edited_field_is_refused(entry, field, monkeypatch):
    assert manifest.check(entry, "here") == entry
    edited = {**entry, field: CHANGED[field]}
    with pytest.raises(errors.CorruptError, match="here was edited"):
        manifest.check(edited, "here")
    monkeypatch.setattr(manifest, "published", lambda: {entry["tag"]: entry})
    message = f"contradicts itself|differs from the published entry .* in {field}. Delete"
    with pytest.raises(errors.CorruptError, match=message):
        manifest.check(made_weights.signed(edited), "here")
    other = made_weights.signed({**entry, "config": {**entry["config"], "new": 0}})
    assert manifest.check(other, "here") == other  # a run today that ends in this file


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_a_file_that_is_not_json_is_refused(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(errors.CorruptError, match="x.json is not JSON"):
        manifest.read(tmp_path / "x.json")


def test_list_weights_returns_matching_tags_in_natural_order(entry, monkeypatch):
    nine, ten = "net_9.mnist_elu-9", "net_10.mnist_elu-10"
    table = dict.fromkeys([ten, nine, "b.mnist_relu-1"], entry)
    monkeypatch.setattr(manifest, "published", lambda: table)
    assert manifest.list_weights() == ["b.mnist_relu-1", nine, ten]
    assert manifest.list_weights("net*") == [nine, ten]
    assert manifest.list_weights("x*") == []
    assert manifest.list_weights("mnist_relu") == ["b.mnist_relu-1"]
    assert manifest.list_weights("et") == [nine, ten]


REGISTERED, OTHER = "sigmoid_cross_entropy", "half_squared_error"  # losses
# (loss, schedule, fraction of the schedule, epochs, seed, test error); the default is
# the first row.
PREFERRED = [
    (REGISTERED, "quick", 1.0, 10, 0, 1.5),
    (REGISTERED, "paper", 1.0, 300, 2, 9.0),
    (REGISTERED, "paper", 1.0, 300, 3, 1.0),
    (REGISTERED, "paper", 0.1, 30, 0, 1.0),
    (REGISTERED, "ours", 1.0, 30, 1, 1.0),
    (REGISTERED, "ours", 1.0, 24, 0, 0.2),
    (REGISTERED, "ours", 0.5, 40, 0, 0.5),
    (OTHER, "paper", 1.0, 300, 0, 0.1),
]


def test_the_default_is_the_best_documented_entry(entry):
    fields = "schedule", "schedule_share", "epochs", "seed"
    rows = []
    for index, (loss, *values, error) in enumerate(PREFERRED):
        row = {**entry, "tag": str(index), "model": "mnist_autoencoder"}
        row |= dict(zip(fields, values, strict=True))
        rows.append(row | {"config": {"train": {"loss": loss}}, "metrics": {"error": error}})
    assert sorted(reversed(rows), key=manifest.rank) == rows
