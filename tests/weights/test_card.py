"""Model cards state the facts of an entry, and their code and command are right."""

import ast
import importlib
import re
import string
import subprocess
import sys
from importlib import resources
from pathlib import Path
from unittest import mock

import pytest
import yaml

import elu_zoo
from elu_zoo import errors, files, results
from elu_zoo.bin import config as config_flag
from elu_zoo.training.config import differences, resolve
from elu_zoo.weights import card as cards
from elu_zoo.weights import manifest

TAGS = manifest.list_weights()
ROWS = results.read("results.csv")
published = pytest.mark.parametrize("tag", TAGS)
MNIST = manifest.published()["mnist_mlp_8x128.mnist_elu-7482e452"]
CIFAR = manifest.published()["elu_cifar_11.cifar100_elu-8cb788cb"]
IMAGES = manifest.published()["mnist_autoencoder.mnist_elu-a7b9bf56"]


@published
def test_a_card_states_the_facts_of_its_entry_and_its_code_runs(tag):
    entry = manifest.published()[tag]
    card = cards.text(entry, ROWS)
    assert "None" not in card
    ours, recipe = results.file_error(entry), results.recipe_error(entry, ROWS)
    for fact in (
        f"`{entry['model']}`",
        f"`{entry['arguments']['activation']['name']}`",
        f"{entry['parameters']:,} parameters",
        f"```sh\n{entry['command']}\n```",
        f"{entry['epochs']} epochs, {entry['step']:,} iterations |",
        *(f"| {line.name} | {line.value} | {line.interval} |" for line in (ours, recipe)),
        entry["sha256"],
    ):
        assert fact in card, fact
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    zoo = mock.Mock()
    exec(code.replace("import elu_zoo\n", ""), {"elu_zoo": zoo, "images": None})
    ((name,), arguments) = zoo.get_model.call_args
    assert (name, arguments["weights"]) == (entry["model"], tag)
    assert ("classifier_activation" in arguments) == (not entry["classes"])


NORMALISED = {"arguments": MNIST["arguments"] | {"batch_norm": True}}
PAPERS = {"schedule": "paper", "config": CIFAR["config"] | {"name": "elu_cifar_11-cifar100"}}
CROPPED = {
    "config": CIFAR["config"] | {"data": CIFAR["config"]["data"] | {"image_size": 256}},
    "preprocessing": {"kind": "mean_crop", "statistics": "m", "crop": [32, 32]},
}


@pytest.mark.parametrize(
    ("entry", "changes", "present", "absent"),
    [
        (MNIST, NORMALISED, "(alpha 1.0) after batch normalisation, ", "train.dropout"),
        (CIFAR, {}, "| ours, `quick`: 30 epochs, 15,000 iterations |", "the paper, section"),
        (CIFAR, PAPERS, "to 31.21 %); the paper, section 4.2, 10 runs: ", "our schedule"),
        (IMAGES, {}, "Test error **3.17, squared**; the paper: no number.", "| classes"),
        (CIFAR, {}, "beetle, bicycle, bottle and 90 more |", "| data.cutout"),
        (CIFAR, {}, "- One seed: ", "| also at"),
        (CIFAR, {"metrics": {"test_error_percent": 31.75}}, "**3.0 points above** its", "section"),
        (CIFAR, {"wall_time_seconds": 159.6}, "| duration | 2.7 minutes on AMD", "| initial"),
        (CIFAR, {"kept_step": 33}, "after step 33, which had the lowest", "the last step"),
        (CIFAR, {"command": None}, "The config was made in Python.", "```sh"),
        (CIFAR, {"replicas": 2}, "an equal share of every batch | 2 |", "| initial weights"),
        (CIFAR, {}, "| train.learning_rates | [0.0, 0.02, 0.0] |", "| batch size"),
        (CIFAR, CROPPED, "shape `(n, 256, 256, 3)`", "(n, 32"),
        (MNIST, {"schedule_share": 0.1}, "- Trained for 10% of the paper's", "train.dropout"),
        (MNIST, {"sources": ["hf:a/b"]}, "| also at | hf:a/b |", "One seed"),
        (MNIST, {"tag": "mine"}, 'weights = "mine.weights.h5"', "Changed images"),
        (MNIST, {"note": "Seen before.", "dataset": "own"}, "- Seen before.", "MNIST's digits"),
    ],
)
def test_a_card_follows_its_entry(entry, changes, present, absent):
    card = cards.text(entry | changes, ROWS)
    assert present in card and absent not in card


def test_all_fields_of_the_template_are_known():
    text = resources.files("elu_zoo.weights").joinpath("card.md").read_text()
    used = {re.split(r"[.[]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name}
    known = {*CIFAR, *cards._texts(CIFAR), *cards._results(CIFAR, ROWS)}
    optional = {"batch_size", "kept_step", "parent", "replicas"}
    assert used - known - {*cards._conditions(CIFAR, ROWS)} == optional


def test_an_entry_without_a_test_error_is_refused():
    with pytest.raises(errors.UsageError, match="measure_test"):
        cards.text(MNIST | {"metrics": {"validation_error_percent": 2.0}}, ROWS)


@pytest.mark.parametrize("entry", [MNIST, CIFAR, IMAGES, MNIST | {"dataset": "my: photos"}])
def test_the_front_matter_agrees_with_the_entry(entry):
    body, card = (cards.text(entry, ROWS, front_matter=x) for x in (False, True))
    assert card.startswith("---\n") and card.endswith(f"---\n\n{body}")
    fields = yaml.safe_load(card.split("---\n")[1])
    assert (fields["license"], fields["library_name"]) == ("apache-2.0", "keras")
    assert {"elu-zoo", "arxiv:1511.07289"} <= set(fields["tags"])
    assert fields["pipeline_tag"] == (
        "image-classification" if entry["classes"] else "image-to-image"
    )
    assert ("datasets" in fields) == (entry["dataset"] != "my: photos")


def test_the_card_of_a_run_is_printed_without_control_characters(tmp_path, capsys):
    tag = "mnist_mlp_8x128.mnist_elu-7482e452"
    for name in (f"{tag}.json", "outcome.json"):
        files.write_json(tmp_path / name, MNIST | {"note": "\x1b[31mred"})
    (tmp_path / f"{tag}.weights.h5").touch()
    elu_zoo.model_card(tmp_path)
    shown = capsys.readouterr().out
    assert shown.startswith(f"# {tag}\n") and "- \ufffd[31mred\n" in shown
    (tmp_path / "own.weights.h5").touch()
    with pytest.raises(errors.NotFoundError, match="no entry"):
        elu_zoo.model_card(tmp_path / "own.weights.h5")


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("mnist_mlp_8x128.mnist_elu", errors.UsageError, "Did you mean 'mnist_mlp_8x1"),
        ("", errors.UsageError, "Unknown weights ''"),
        ("no/such.weights.h5", errors.NotFoundError, "such"),
        (Path("no"), errors.NotFoundError, "no"),
    ],
)
def test_wrong_names_are_refused(name, kind, word):
    with pytest.raises(kind, match=word):
        elu_zoo.model_card(name)


def test_a_card_needs_neither_keras_nor_tensorflow():
    code = (
        f"import sys, elu_zoo; elu_zoo.model_card({TAGS[0]!r})\n"
        "print(sorted({'keras', 'tensorflow', 'jax', 'numpy'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith(f"# {TAGS[0]}\n")
    assert result.stdout.endswith("\n[]\n")


@published
def test_the_command_of_published_weights_gives_their_config(tag):
    entry = manifest.published()[tag]
    # A wrong command line raises an error.
    config_flag.resolve_flag(entry["command"].split())
    flag, *others = entry["command"].removeprefix("elu-zoo-train --config=").split()
    name, _, arguments = flag.partition(":")
    config = importlib.import_module(f"elu_zoo.configs.{name}").get_config(arguments)
    for field in others:
        key, _, value = field.removeprefix("--config.").partition("=")
        config.update_from_flattened_dict({key: ast.literal_eval(value)})
    assert differences(entry["config"], resolve(config).values) == []
