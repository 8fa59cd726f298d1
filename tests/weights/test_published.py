"""The published weights agree with their entries, files, outputs and test errors."""

import collections
import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import elu_zoo
from elu_zoo import activations, files, registry
from elu_zoo.models import cost
from elu_zoo.weights import calibration, manifest, measures, pretrained

GOLDEN = Path(__file__).parent / "golden.json"
PACKAGE = Path(pretrained.__file__).parent
TAGS = sorted(manifest.published())
published = pytest.mark.parametrize("tag", TAGS)


@functools.cache
def model_of(tag):
    return elu_zoo.get_model(manifest.published()[tag]["model"], weights=tag)


# Fields with 0, or nothing, in some entries.
MAY_BE_EMPTY = {"seed", "sources", "classes", "examples"}


@published
def test_an_entry_has_all_fields_with_valid_values(tag):
    entry = manifest.published()[tag]
    assert set(entry) > manifest.FIELDS
    assert ("calibration" in entry) == bool(entry["classes"])
    assert all(value or field in MAY_BE_EMPTY for field, value in entry.items())
    assert tag == entry["tag"] and manifest.check(entry, tag) is entry
    assert all(math.isfinite(value) for value in entry["metrics"].values())
    assert entry["metrics"].keys() & {"test_error_percent", "test_squared_error"}
    assert len(entry["classes"]) == entry["arguments"].get("num_classes", 0)
    assert 0 < entry["schedule_share"] <= 1
    assert measures.training_cost(entry).items() <= entry.items()


@published
def test_the_examples_of_an_entry_are_all_images_of_its_data_set(tag):
    entry = manifest.published()[tag]
    counts = entry["examples"]
    held_out = [key for key in entry["metrics"] if key.startswith("validation_")]
    assert bool(counts["validation"]) == bool(held_out)
    size = entry["config"]["train"]["batch_size"]
    assert entry["step"] == counts["train"] // size * entry["epochs"]
    sizes = {"mnist": (60_000, 10_000), "cifar10": (50_000, 10_000)}
    images = sizes.get(entry["dataset"], (50_000, 10_000))
    assert (counts["train"] + counts["validation"], counts["test"]) == images


@published
def test_a_weight_file_agrees_with_its_entry(tag):
    entry = manifest.published()[tag]
    selected = pretrained.find(entry["model"], tag)
    content = selected.path.read_bytes()
    assert (files.sha256(content), len(content)) == (entry["sha256"], entry["bytes"])
    (beside,) = PACKAGE.glob(f"*/{tag}.json")
    assert json.loads(beside.read_text()) == entry


@pytest.mark.parametrize("tag", [tag for tag in TAGS if manifest.published()[tag]["classes"]])
def test_an_entry_states_a_temperature_or_the_reason_for_its_absence(tag):
    entry = manifest.published()[tag]
    stated = entry["calibration"]  # The temperature may be that of a twin.
    assert ("no_temperature" in stated) != ("temperature" in stated)
    assert "temperature" in stated or not calibration.has_held_out(entry)
    if "temperature" in stated:
        most = stated["nll_nats"] * (1.002 if abs(stated["temperature"] - 1) < 0.03 else 1)
        assert stated["nll_nats_at_temperature"] < most
    assert stated["nll_nats"] == pytest.approx(entry["metrics"]["test_loss"], rel=1e-4)


@published
def test_an_entry_states_the_size_of_its_network(tag):
    entry = manifest.published()[tag]
    bare = elu_zoo.get_model(entry["model"], **entry["arguments"], preprocessing=False)
    assert cost.parameters(bare) == entry["parameters"]
    assert cost.multiply_accumulates(bare) == entry["multiply_accumulates"]


@published
def test_the_config_of_an_entry_agrees_with_its_other_fields(tag):
    entry = manifest.published()[tag]
    config, arguments = entry["config"], entry["arguments"]
    assert (config["seed"], config["train"]["epochs"]) == (entry["seed"], entry["epochs"])
    assert activations.describe(config["model"]["activation"]) == arguments["activation"]
    assert config["model"]["batch_norm"] == arguments["batch_norm"]


def test_each_network_and_data_set_has_one_default():
    ranks = collections.defaultdict(list)
    for e in manifest.published().values():
        ranks[e["model"], e["dataset"], manifest.variant(e["arguments"])].append(manifest.rank(e))
    assert all(len(set(of_one)) == len(of_one) for of_one in ranks.values())


def test_the_golden_file_has_outputs_of_every_tag():
    assert sorted(json.loads(GOLDEN.read_text())) == TAGS, "run tools/release_weights.py"


@published
def test_outputs_equal_the_golden_file(tag):
    shape = manifest.published()[tag]["arguments"]["input_shape"]
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), "uint8")
    outputs = np.asarray(model_of(tag)(images)).reshape(len(images), -1)
    expected = np.asarray(json.loads(GOLDEN.read_text())[tag])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5 * scale)


def _with_marks(tag):
    entry = manifest.published()[tag]
    takes_minutes = registry.entry(entry["model"]).default("input_shape")[-1] == 3
    marks = [pytest.mark.slow, pytest.mark.data(entry["dataset"])]
    return pytest.param(tag, marks=marks + [pytest.mark.nightly] * takes_minutes)


@pytest.mark.parametrize("tag", [_with_marks(tag) for tag in TAGS])
def test_the_test_error_of_an_entry_is_reproduced(tag):
    from elu_zoo.data import load
    from elu_zoo.evaluation.evaluator import Evaluator
    from elu_zoo.evaluation.loss import Objective

    entry = manifest.published()[tag]
    test = load.load(entry["dataset"]).test
    objective = Objective(entry["config"]["train"]["loss"], entry["preprocessing"])
    measured = Evaluator(model_of(tag), objective)(test)
    stored = {name: x for name, x in entry["metrics"].items() if name.startswith("test_")}
    assert "test_loss" in stored
    for name, value in stored.items():
        # One of 10,000 images may change its class.
        slack = {"rel": 1e-4} if name in ("test_loss", "test_squared_error") else {"abs": 0.0101}
        assert measured[name.removeprefix("test_")] == pytest.approx(value, **slack)


def test_weights_in_the_package_are_all_published():
    found = PACKAGE.glob(f"*/*{manifest.SUFFIX}*")
    assert {path.name.partition(manifest.SUFFIX)[0] for path in found} == set(TAGS)
