"""Model cards state the facts of an entry, and their example code runs."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import yaml

import elu_zoo
from elu_zoo import errors, files, results
from elu_zoo.bin import config as config_flag
from elu_zoo.training.config import resolve
from elu_zoo.weights import card as cards
from elu_zoo.weights import manifest

TAGS = manifest.list_weights()
ROWS = results.read("results.csv")
published = pytest.mark.parametrize("tag", TAGS)
HEADINGS = ["Training", "Evaluation", "Limits", "How to use", "Citation"]


@published
def test_a_card_states_the_facts_of_its_entry(tag):
    entry = manifest.published()[tag]
    card = cards.text(entry, ROWS)
    assert card.startswith(f"# {tag}\n\n") and card.endswith(".\n")
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == HEADINGS
    file_row, recipe_row = results.file_error(entry), results.recipe_error(entry, ROWS)
    paper_row = results.paper_error(entry, results.read("paper.csv"))
    for fact in (
        f"`{entry['model']}`",
        f"`{entry['arguments']['activation']['name']}`",
        f"{entry['parameters']:,} parameters",
        f"{entry['multiply_accumulates']:,} multiply-accumulates",
        "**Not** for decisions about people",
        entry["data_terms"],
        f"```sh\n{entry['command']}\n```",
        f"| schedule | {cards.schedule(entry)} |",
        f"| seed | {entry['seed']} |",
        entry["commit"],
        f"minutes on {entry['hardware']} |"
        if entry["wall_time_seconds"] < 5400
        else f"hours on {entry['hardware']} |",
        f"| {file_row.name} | {file_row.value} | {file_row.interval} |",
        f"| {recipe_row.name} | {recipe_row.value} | {recipe_row.interval} |",
        "Errors were measured after the last step",
        "Neither steps nor runs were selected by test errors",
        "rounded to float16",
        f'weights = "{tag}"',
        entry["sha256"],
        f"{entry['bytes']:,}",
        "arXiv:1511.07289",
        f"{entry['licence']} for our rights",
    ):
        assert fact in card, fact
    assert "None" not in card
    assert ("| the paper" in card) == (entry["schedule"] == "paper")
    assert not paper_row or f"| {paper_row.name} | {paper_row.value} |" in card


@published
def test_the_code_of_a_card_runs(tag):
    card = cards.text(manifest.published()[tag], [])
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    zoo = mock.Mock()
    exec(code.replace("import elu_zoo\n", ""), {"elu_zoo": zoo, "images": None})
    ((name,), arguments) = zoo.get_model.call_args
    entry = manifest.published()[arguments["weights"]]
    assert name == entry["model"]
    squared = results.metric(entry) == results.SQUARED
    assert ("classifier_activation" in arguments) == squared


MNIST = manifest.published()["mnist_mlp_8x128.mnist_elu-7482e452"]
CIFAR = manifest.published()["elu_cifar_11.cifar100_elu-8cb788cb"]
IMAGES = manifest.published()["mnist_autoencoder.mnist_elu-a7b9bf56"]
NORMALISED = MNIST["arguments"] | {"batch_norm": True}
PAPERS = {
    "schedule": "paper",
    "config": CIFAR["config"] | {"name": "elu_cifar_11-cifar100"},
}


SGD = CIFAR["config"]["train"] | {"optimizer": "sgd"}


def trained(**changes):
    """Returns the change of an entry after changes of its config's section `train`."""
    return {"config": CIFAR["config"] | {"train": SGD | changes}}


@pytest.mark.parametrize(
    ("entry", "changes", "text"),
    [
        (MNIST, {"arguments": NORMALISED}, "(alpha 1.0) after batch normalisation, "),
        (CIFAR, PAPERS, "to 31.21 %); the paper, section 4.2, 10 runs: "),
        (IMAGES, {}, "Test error **3.17, squared**; the paper: no number."),
        (IMAGES, {}, "The squared error is the sum over the pixels of an image, w"),
        (CIFAR, {}, "people (among the classes: baby, boy, girl, man, woman)"),
        (CIFAR, {}, "beetle, bicycle, bottle and 90 more |"),
        (CIFAR, {}, "- Trained with our schedule `quick` instead of the paper's. "),
        (CIFAR, {}, "- One seed: "),
        (CIFAR, {}, "About 10 % of the test images have near-duplicates"),
        (CIFAR, {"dataset": "cifar10"}, "About 3 % of the test images have near-dup"),
        (CIFAR, {}, "kind gcn_zca, statistics cifar100_zca-22fa4d90bc8c0602 |"),
        (CIFAR, {}, "| schedule | ours, `quick`: 30 epochs, 15,000 iterations |"),
        (CIFAR, {"wall_time_seconds": 159.6}, "| duration | 2.7 minutes on AMD EPYC, 2"),
        (CIFAR, {"kept_step": 33}, "after step 33, which had the lowest validation loss"),
        (CIFAR, {"command": None}, "The config was made in Python."),
        (CIFAR, {"parent": "net.elu-0"}, "initial weights, except for the classifier | net.e"),
        (CIFAR, {"replicas": 2}, "| replicas, each with an equal share of every batch | 2 |"),
        (CIFAR, {}, "| 0, 0.02 at iteration 2,250, 0 at iteration 15,000 (linear) |"),
        (CIFAR, trained(boundaries=[0.5]), "| 0, 0.02 at iteration 7,500, 0 at iteration 15"),
        (
            CIFAR,
            trained(learning_rate_shape="steps", boundaries=[5000, 0.5]),
            "| 0, 0.02 at iteration 5,000, 0 at iteration 7,500 (steps) |",
        ),
        (CIFAR, trained(momentum_rise=[0.5, 0.25]), "| train.momentum_rise | [0.5, 0.25] |"),
        (MNIST, {}, "| kind rescale, scale 0.003922 |"),
        (MNIST, {"dataset": "mnist_5k"}, "MNIST's digits are light on dark"),
        (MNIST, {"schedule_share": 0.1}, "- Trained for 10% of the paper's schedule"),
        (MNIST, {"sources": ["https://a/b"]}, "| also at | https://a/b |"),
        (MNIST, {"tag": "mine"}, 'weights = "mine.weights.h5"'),
    ],
)
def test_a_card_has_the_sentences_that_depend_on_the_entry(entry, changes, text):
    assert text in cards.text(entry | changes, ROWS)


@pytest.mark.parametrize(
    ("entry", "changes", "text"),
    [
        (MNIST, {}, "One seed"),
        (MNIST, {}, "instead of the paper's"),
        (MNIST, {}, "(among the classes"),
        (MNIST, {}, "| train.dropout"),
        (CIFAR, {}, "| train.heads_until"),
        (MNIST, {"dataset": "photos"}, "MNIST's digits"),
        (CIFAR, {}, "the paper, section"),
        (IMAGES, {}, "Every image gets one of"),
        (IMAGES, {}, "| classes"),
    ],
)
def test_a_card_omits_sentences_that_the_entry_excludes(entry, changes, text):
    assert text not in cards.text(entry | changes, ROWS)


def test_the_card_of_a_model_that_crops_states_the_uncropped_shape():
    data = CIFAR["config"]["data"] | {"image_size": 256}
    config = CIFAR["config"] | {"data": data}
    preprocessing = {"kind": "mean_crop", "statistics": "m", "crop": [32, 32]}
    changes = {"config": config, "preprocessing": preprocessing}
    assert "shape `(n, 256, 256, 3)`" in cards.text(CIFAR | changes, ROWS)


@pytest.mark.parametrize("field", sorted(cards.FIELDS))
def test_an_entry_without_a_field_is_refused(field):
    incomplete = {key: value for key, value in MNIST.items() if key != field}
    for entry in (incomplete, MNIST | {field: ""}):
        with pytest.raises(errors.CorruptError, match=f"lacks {field}, which a model"):
            cards.text(entry, ROWS)


def test_an_entry_without_the_size_of_a_split_is_refused():
    with pytest.raises(errors.CorruptError, match="lacks examples.validation, which"):
        cards.text(MNIST | {"examples": {"train": 1, "test": 1}}, ROWS)


def test_an_entry_without_a_test_error_is_refused():
    with pytest.raises(errors.UsageError, match="no test error.*measure_test=True in"):
        cards.text(MNIST | {"metrics": {"validation_error_percent": 2.0}}, ROWS)


@published
def test_the_front_matter_agrees_with_the_entry(tag):
    entry = manifest.published()[tag]
    body, card = (cards.text(entry, ROWS, front_matter=x) for x in (False, True))
    assert card.startswith("---\n") and card.endswith(f"---\n\n{body}")
    fields = yaml.safe_load(card.split("---\n")[1])
    assert (fields["license"], fields["library_name"]) == ("apache-2.0", "keras")
    assert "arxiv:1511.07289" in fields["tags"]
    assert len(set(fields["tags"])) == len(fields["tags"])
    assert entry["arguments"]["activation"]["name"] in fields["tags"]
    (model,) = fields["model-index"]
    (result,) = model["results"]
    (measured,) = result["metrics"]
    assert model["name"] == tag
    assert [result["dataset"]["type"]] == fields["datasets"]
    assert (result["dataset"]["name"], result["dataset"]["split"]) == (
        entry["dataset"], "test"
    )  # fmt: skip
    assert fields["metrics"] == [measured["type"]]
    assert fields["pipeline_tag"] == result["task"]["type"]
    if entry["classes"]:
        error = entry["metrics"]["test_error_percent"]
        assert measured["type"] == "accuracy"
        assert 100 * (1 - measured["value"]) == pytest.approx(error)
    else:
        assert measured["value"] == entry["metrics"]["test_squared_error"]


def test_the_front_matter_of_a_user_data_set_states_no_data_set_of_the_hub():
    card = cards.text(MNIST | {"dataset": "my: photos"}, [], front_matter=True)
    fields = yaml.safe_load(card.split("---\n")[1])
    assert "datasets" not in fields
    dataset = fields["model-index"][0]["results"][0]["dataset"]
    assert dataset["name"] == "my: photos" and dataset["type"] == "own images"


def test_the_note_of_an_entry_is_listed_as_a_limit():
    assert "- Seen before." in cards.text(MNIST | {"note": "Seen before."}, [])


@pytest.fixture
def run(tmp_path):
    """The folder of a finished run."""
    tag = "mine.mnist_elu-00000000"
    for name in (f"{tag}.json", "outcome.json"):
        files.write_json(tmp_path / name, MNIST | {"tag": tag})
    return tmp_path


@pytest.mark.parametrize(
    "name", [".", "mine.mnist_elu-00000000.weights.h5", "mine.mnist_elu-00000000.json"]
)
def test_the_card_of_a_run_is_printed(run, name, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(run))
    for path in (run / name, os.path.join("~", name)):
        elu_zoo.model_card(path)
        assert capsys.readouterr().out.startswith("# mine.mnist_elu-00000000\n")


def test_the_card_of_a_tag_is_printed(capsys):
    elu_zoo.model_card(MNIST["tag"])
    assert capsys.readouterr().out == cards.text(MNIST, ROWS)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("mnist_mlp_8x128.mnist_elu", errors.UsageError, "Did you mean 'mnist_mlp_8x1"),
        ("", errors.UsageError, "Unknown weights ''"),
        (
            "no/such.weights.h5",
            errors.NotFoundError,
            "There is no entry no/such.json",
        ),
        (Path("no"), errors.NotFoundError, "There is no entry no.json"),
        (3, errors.UsageTypeError, "Received: 3 of type int"),
    ],
)
def test_wrong_names_are_refused(name, kind, message):
    with pytest.raises(kind, match=message):
        elu_zoo.model_card(name)


def test_a_folder_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(errors.NotFoundError, match="outcome.json, which a model card"):
        elu_zoo.model_card(tmp_path)


def test_a_card_needs_neither_keras_nor_tensorflow():
    code = (
        f"import sys, elu_zoo; elu_zoo.model_card({TAGS[0]!r})\n"
        "heavy = {'keras', 'tensorflow', 'jax', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith(f"# {TAGS[0]}\n")
    assert result.stdout.endswith("\n[]\n")


def test_control_characters_are_replaced(tmp_path, capsys, monkeypatch):
    path = tmp_path / "own.json"
    path.touch()
    monkeypatch.setattr(manifest, "read", lambda path: MNIST | {"note": "\x1b[31mred"})
    elu_zoo.model_card(path)
    shown = capsys.readouterr().out
    assert "- \ufffd[31mred\n" in shown and shown.replace("\n", "").isprintable()


def config_of(command):
    """Returns the config of a command, as plain JSON values."""
    # A wrong command line raises an error.
    config_flag.resolve_flag(command.split())
    flag, *others = command.removeprefix("elu-zoo-train --config=").split()
    name, _, arguments = flag.partition(":")
    module = importlib.import_module(f"elu_zoo.configs.{name}")
    config = module.get_config(arguments)
    for field in others:
        key, _, value = field.removeprefix("--config.").partition("=")
        config.update_from_flattened_dict({key: ast.literal_eval(value)})
    return resolve(config).values


@published
def test_the_command_of_published_weights_gives_their_config(tag):
    entry = manifest.published()[tag]
    assert config_of(entry["command"]) == entry["config"]
