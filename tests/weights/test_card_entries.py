"""Published entries have all fields of model cards, with right values."""

import functools
import itertools
import json
import math
from importlib import resources

import pytest

import elu_zoo
from elu_zoo import files
from elu_zoo.models import cost
from elu_zoo.models.elu_cifar_11 import STACKS
from elu_zoo.weights import cards, manifest

published = pytest.mark.parametrize("tag", manifest.list_weights())
NUMBER = int | float
TYPES = {
    **dict.fromkeys("format bytes parameters multiply_accumulates".split(), int),
    **dict.fromkeys("seed step epochs".split(), int),
    **dict.fromkeys("schedule_share wall_time_seconds".split(), NUMBER),
    **dict.fromkeys("arguments preprocessing config metrics".split(), dict),
    **dict.fromkeys("examples versions".split(), dict),
    **dict.fromkeys("classes sources".split(), list),
    **dict.fromkeys("tag model dataset sha256 schedule commit backend".split(), str),
    **dict.fromkeys("hardware licence data_terms".split(), str),
}
MAY_BE_EMPTY = {"seed", "sources", "classes"}


def test_every_field_of_a_card_has_a_type():
    assert set(TYPES) == cards.FIELDS > manifest.FIELDS


@published
@pytest.mark.parametrize("field", sorted(cards.FIELDS))
def test_field(tag, field):
    value = manifest.published()[tag][field]
    assert isinstance(value, TYPES[field]) and not isinstance(value, bool)
    assert value or field in MAY_BE_EMPTY
    if isinstance(value, NUMBER):
        assert math.isfinite(value) and value >= 0


@published
def test_examples_are_whole_splits(tag):
    entry = manifest.published()[tag]
    counts = entry["examples"]
    assert set(counts) == {"train", "validation", "test"} and counts["train"] > 0
    held_out = [key for key in entry["metrics"] if key.startswith("validation_")]
    assert bool(counts["validation"]) == bool(held_out)
    size = entry["config"]["train"]["batch_size"]
    assert entry["step"] == counts["train"] // size * entry["epochs"]
    sizes = {"mnist": (60_000, 10_000), "cifar10": (50_000, 10_000)}
    images = sizes.get(entry["dataset"], (50_000, 10_000))
    assert (counts["train"] + counts["validation"], counts["test"]) == images


@published
def test_the_entry_beside_the_file_is_the_same(tag):
    """But for what came after the first files, which are not rewritten."""
    beside = resources.files("elu_zoo.weights").joinpath(f"{tag}.json")
    later = {"command", manifest.MEANING_HASH}
    entry = manifest.published()[tag]
    assert later < entry.keys()
    found = json.loads(beside.read_text())
    assert found in (entry, {k: v for k, v in entry.items() if k not in later})


@published
def test_the_file_is_the_one_of_the_card(tag):
    path = resources.files("elu_zoo.weights").joinpath(tag + manifest.SUFFIX)
    content, card = path.read_bytes(), cards.text(manifest.published()[tag], [])
    row = f"| `{path.name}` | {len(content):,} | `{files.sha256(content)}` |"
    assert row in card


def counts_of_dense(units):
    """Returns parameters and multiply-accumulates of fully connected layers."""
    pairs = list(itertools.pairwise(units))
    macs = sum(a * b for a, b in pairs)
    return macs + sum(b for _, b in pairs), macs


def counts_of_convolutions(stacks, size, channels, classes):
    """The same of the paper's stacks with Caffe's padding, summed layer by layer."""
    parameters = macs = 0
    for stack in (*stacks, ((1, classes, 1),)):
        layers = [(units, k) for count, units, k in stack for _ in range(count)]
        for units, k in layers:
            size += k % 2 == 0  # one row and column more
            kernel = k * k * channels * units
            parameters += kernel + units
            macs += kernel * size * size
            channels = units
        size = math.ceil(size / 2)
    return parameters, macs


def by_hand(model, classes):
    if model == "elu_cifar_11":
        return counts_of_convolutions(STACKS, 32, 3, classes)
    units = {
        "mnist_mlp_8x128": [784, *[128] * 8, 10],
        "mnist_mlp_5x256": [784, *[256] * 5, 10],
        "mnist_autoencoder": [784, 1000, 500, 250, 30, 250, 500, 1000, 784],
    }
    return counts_of_dense(units[model])


@functools.cache
def of_keras(model, classes, activation):
    arguments = {"num_classes": classes} if classes else {}
    network = elu_zoo.get_model(
        model, activation=activation, **arguments, preprocessing=False
    )
    return cost.parameters(network), cost.multiply_accumulates(network)


@published
def test_costs(tag):
    entry = manifest.published()[tag]
    arguments, classes = entry["arguments"], len(entry["classes"])
    assert arguments["width"] == 1.0 and not arguments["batch_norm"]
    stated = entry["parameters"], entry["multiply_accumulates"]
    assert stated == by_hand(entry["model"], classes)
    name = arguments["activation"]["name"]
    assert stated == of_keras(entry["model"], classes, name)
