"""Entries and the manifest: written, read, refused, ranked."""

import importlib.util
import json
import math
import os
from importlib import resources
from pathlib import Path

import numpy as np
import published_weights as made_weights
import pytest

import elu_zoo
import elu_zoo.models  # noqa: F401  (registers the networks)
from elu_zoo import activations, errors, files, registry
from elu_zoo.models import cost
from elu_zoo.weights import cards, manifest, pretrained

GOLDEN = Path(__file__).parent / "golden.json"


@pytest.fixture(scope="module")
def entry():
    return made_weights.make()[0]


@pytest.mark.parametrize(
    ("activation", "batch_norm", "expected"),
    [("elu", False, "elu"), ("relu", True, "relu_bn"), ("srelu", 0, "shifted_relu")],
)
def test_tag(activation, batch_norm, expected):
    arguments = {
        "activation": activations.describe(activation),
        "batch_norm": batch_norm,
    }
    assert manifest.variant(arguments) == expected
    tag = manifest.tag("net", "mnist", arguments, "0123456789abcdef")
    assert tag == f"net.mnist_{expected}-01234567"


def test_read(entry, tmp_path):
    path = tmp_path / "x.json"
    files.write_json(path, entry)
    assert manifest.read(path) == entry


@pytest.mark.parametrize("field", sorted(manifest.FIELDS - {"format"}))
def test_missing_field(entry, field):
    less = {k: v for k, v in entry.items() if k != field}
    with pytest.raises(errors.CorruptError, match=f"here lacks {field}"):
        manifest.check(less, "here")


@pytest.mark.parametrize("argument", ["activation", "batch_norm"])
def test_missing_argument(entry, argument):
    less = {k: v for k, v in entry["arguments"].items() if k != argument}
    with pytest.raises(errors.CorruptError, match=f"here lacks {argument}"):
        manifest.check({**entry, "arguments": less}, "here")


@pytest.mark.parametrize("form", [2, 0, "1", None, True, 1.0])
def test_format(entry, form):
    with pytest.raises(errors.CorruptError, match="here has format.*format 1. Upgrade"):
        manifest.check({**entry, "format": form}, "here")


@pytest.mark.parametrize("value", [None, 3, [1]])
@pytest.mark.parametrize("field", sorted(manifest._TYPES))
def test_type(entry, field, value):
    if isinstance(value, manifest._TYPES[field]):
        value = "1"
    with pytest.raises(errors.CorruptError, match=f"here: {field} is a"):
        manifest.check({**entry, field: value}, "here")


@pytest.mark.parametrize(
    ("field", "values", "message"),
    [
        (
            "tag",
            ["", "../x", "a/b", "a\\b", ".x", "..", "a\0", "a\x1b[2J", "a" * 201],
            "tag is a name of a file without a folder",
        ),
        (
            "sha256",
            ["", "a" * 63, "a" * 65, "A" * 64, "a" * 64 + "\n", "../" + "a" * 61],
            "sha256 is a hash of 64 hexadecimal digits",
        ),
    ],
)
def test_form(entry, field, values, message):
    for value in values:
        with pytest.raises(errors.CorruptError, match=f"here: {message}"):
            manifest.check({**entry, field: value}, "here")


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("activation", "elu", "activation is a dict with a name. Received: 'elu'"),
        ("activation", {}, "activation is a dict with a name. Received: {}"),
        ("activation", {"name": ["elu"]}, "activation is a dict with a name"),
        ("batch_norm", 1, "batch_norm is a bool. Received: 1"),
        ("batch_norm", 10**9, "batch_norm is a bool. Received: 1000000000"),
    ],
)
def test_form_of_arguments(entry, argument, value, message):
    arguments = {**entry["arguments"], argument: value}
    with pytest.raises(errors.CorruptError, match=f"here: {message}"):
        manifest.check({**entry, "arguments": arguments}, "here")


@pytest.mark.parametrize("sources", ["https://host", [3], {"a": 1}, None])
def test_form_of_sources(entry, sources):
    with pytest.raises(errors.CorruptError, match="here: sources is a list of strings"):
        manifest.check_beside({**entry, "sources": sources}, "here")


@pytest.mark.parametrize("scale", [None, "x", True, float("inf"), [1]])
def test_form_of_scale(entry, scale):
    changed = {**entry, "preprocessing": {"kind": "rescale", "scale": scale}}
    with pytest.raises(errors.CorruptError, match="here: scale is a finite number"):
        manifest.check_beside(changed, "here")


def test_long_values_are_cut(entry):
    with pytest.raises(errors.CorruptError) as caught:
        manifest.check({**entry, "classes": "x" * 10**6}, "here")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [[], None, "x", 3])
def test_not_a_mapping(value):
    with pytest.raises(errors.CorruptError, match="here is not an entry"):
        manifest.check(value, "here")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b"tag: 1"),
        *(b'{"x": NaN}', b"[-Infinity]", '"x"'.encode("utf-16")),
    ],
)
def test_not_json(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(errors.CorruptError, match="x.json is not JSON"):
        manifest.read(tmp_path / "x.json")


def test_natural_order():
    names = ["x_18", "x_5", "x", "a_10b2", "a_10b10", "a_9"]
    expected = ["a_9", "a_10b2", "a_10b10", "x", "x_5", "x_18"]
    assert sorted(names, key=manifest.natural) == expected


def test_list_weights(entry, monkeypatch):
    table = {f"net_{i}.mnist_elu-{i}": entry for i in (10, 9)}
    monkeypatch.setattr(
        manifest, "published", lambda: {**table, "b.mnist_relu-1": entry}
    )
    nine, ten = "net_9.mnist_elu-9", "net_10.mnist_elu-10"
    assert manifest.list_weights() == ["b.mnist_relu-1", nine, ten]
    assert manifest.list_weights("*elu-*") == ["b.mnist_relu-1", nine, ten]
    assert manifest.list_weights("net*") == [nine, ten]
    assert manifest.list_weights("x*") == []
    assert manifest.list_weights("mnist_relu") == ["b.mnist_relu-1"]
    assert manifest.list_weights("et") == [nine, ten]


OWN, OTHER = "sigmoid_cross_entropy", "half_squared_error"
# loss, schedule, share of it, epochs, seed, test error: the first of all first
PREFERRED = [
    (OWN, "paper", 1.0, 300, 2, 9.0),
    (OWN, "paper", 1.0, 300, 3, 1.0),
    (OWN, "paper", 0.1, 30, 0, 1.0),
    (OWN, "fast", 1.0, 30, 1, 1.0),
    (OWN, "fast", 1.0, 24, 0, 0.2),
    (OWN, "fast", 0.5, 40, 0, 0.5),
    (OTHER, "paper", 1.0, 300, 0, 0.1),
]


def test_the_default(entry, monkeypatch):
    rows = [
        {
            **entry,
            "tag": str(index),
            "model": "mnist_autoencoder",
            "config": {"train": {"loss": loss}},
            "schedule": schedule,
            "schedule_share": share,
            "epochs": epochs,
            "seed": seed,
            "metrics": {"test_error_percent": error},
        }
        for index, row in enumerate(PREFERRED)
        for loss, schedule, share, epochs, seed, error in [row]
    ]
    assert sorted(reversed(rows), key=manifest.rank) == rows
    other = {**rows[4], "tag": "other", "dataset": "fashion"}
    table = {row["tag"]: row for row in [*reversed(rows), other]}
    monkeypatch.setattr(manifest, "published", lambda: table)
    defaults = [tag for tag, row in table.items() if manifest.is_default(row)]
    assert defaults == ["0", "other"]


@pytest.mark.parametrize(
    "config", ["", {}, {"train": {}}, {"train": {"loss": "hinge"}}, {"train": "loss"}]
)
def test_an_entry_without_a_known_loss(entry, config):
    with pytest.raises(errors.CorruptError, match="names no loss of softmax_cross"):
        manifest.loss({**entry, "config": config})


def test_the_manifest_is_checked(entry, tmp_path, monkeypatch):
    (tmp_path / "manifest.json").write_text(json.dumps({"entries": {"x": {}}}))
    monkeypatch.setattr(manifest.resources, "files", lambda name: tmp_path)
    with pytest.raises(errors.CorruptError, match="manifest entry x has format None"):
        manifest.published.__wrapped__()


# From here on: the weights that the package publishes.

TAGS = sorted(manifest.published())
published = pytest.mark.parametrize("tag", TAGS)


def model_of(tag):
    return elu_zoo.get_model(manifest.published()[tag]["model"], weights=tag)


@published
def test_entry(tag):
    entry = manifest.published()[tag]
    assert set(entry) == cards.FIELDS | {"command", manifest.MEANING_HASH}
    arguments, sha256 = entry["arguments"], entry["sha256"]
    assert tag == entry["tag"]
    assert tag == manifest.tag(entry["model"], entry["dataset"], arguments, sha256)
    assert all(math.isfinite(value) for value in entry["metrics"].values())
    assert entry["metrics"].keys() & {"test_error_percent", "test_squared_error"}
    assert len(entry["classes"]) == arguments.get("num_classes", 0)
    assert entry["licence"] and entry["data_terms"] and entry["commit"]
    assert 0 < entry["schedule_share"] <= 1 or entry["schedule"] == "fast"


@published
def test_file(tag):
    entry = manifest.published()[tag]
    found = pretrained.find(entry["model"], tag)
    content = found.path.read_bytes()
    assert (files.sha256(content), len(content)) == (entry["sha256"], entry["bytes"])


@published
def test_model(tag):
    entry = manifest.published()[tag]
    model = model_of(tag)
    assert cost.parameters(model) == entry["parameters"]
    again = elu_zoo.get_model(entry["model"], weights=tag, **entry["arguments"])
    for one, other in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@published
def test_settings(tag):
    from ml_collections import ConfigDict

    from elu_zoo.training.config import config_hash

    entry = manifest.published()[tag]
    config = ConfigDict(entry["config"])
    text = json.dumps(entry["config"], sort_keys=True).encode()
    assert config_hash(config) == files.sha256(text)[:16]
    assert config.seed == entry["seed"] and config.train.epochs == entry["epochs"]
    described = activations.describe(config.model.activation)
    assert described == entry["arguments"]["activation"]
    assert config.model.batch_norm == entry["arguments"]["batch_norm"]


def test_one_default_each():
    table = manifest.published().values()
    key = [json.dumps([e["model"], e["dataset"], e["arguments"]]) for e in table]
    defaults = [k for k, e in zip(key, table, strict=True) if manifest.is_default(e)]
    assert sorted(defaults) == sorted(set(key))


def test_golden_file_names_every_tag():
    assert sorted(json.loads(GOLDEN.read_text())) == TAGS, (
        "run tools/golden_outputs.py; a tag that is published stays so"
    )


@published
def test_golden_outputs(tag):
    shape = manifest.published()[tag]["arguments"]["input_shape"]
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), "uint8")
    outputs = np.asarray(model_of(tag)(images)).reshape(len(images), -1)
    expected = np.asarray(json.loads(GOLDEN.read_text())[tag])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5 * scale)


def _costly(tag):
    """Whether it takes a minute: `test_golden_outputs` stands for these."""
    return registry.entry(manifest.published()[tag]["model"]).takes("conv_dtype")


@pytest.mark.data
@pytest.mark.parametrize(
    "tag",
    [pytest.param(t, marks=pytest.mark.slow) if _costly(t) else t for t in TAGS],
)
def test_stated_error_on_the_real_data(tag):
    if importlib.util.find_spec("tensorflow_datasets") is None:
        pytest.skip("tensorflow-datasets is not installed")
    from elu_zoo.data import load
    from elu_zoo.training.evaluate import Evaluator
    from elu_zoo.training.loss import Objective

    entry = manifest.published()[tag]
    root = os.environ.get("TFDS_DATA_DIR")
    if not root or not list(Path(root).glob(f"{entry['dataset']}/*/dataset_info.json")):
        pytest.skip(f"TFDS_DATA_DIR names no folder with {entry['dataset']}")
    test = load.load(entry["dataset"]).test
    objective = Objective(entry["config"]["train"]["loss"], entry["preprocessing"])
    found = Evaluator(model_of(tag), objective)(test)
    assert {f"test_{name}" for name in found} <= set(entry["metrics"])
    for name, value in found.items():
        slack = {"abs": 0.0101} if name == "error_percent" else {"rel": 1e-4}
        assert value == pytest.approx(entry["metrics"][f"test_{name}"], **slack)


def test_weights_in_the_package_are_all_published():
    carried = resources.files("elu_zoo.weights").iterdir()
    names = {p.name.removesuffix(manifest.SUFFIX) for p in carried
             if p.name.endswith(manifest.SUFFIX)}  # fmt: skip
    assert names <= set(TAGS)
