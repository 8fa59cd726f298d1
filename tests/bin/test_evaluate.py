"""elu-zoo-evaluate: measures, notes and errors."""

import json
import re
import shutil

import numpy as np
import pytest

from elu_zoo import zoo
from elu_zoo.evaluation import loss
from elu_zoo.weights import manifest

MODEL = "--model=mnist_mlp_8x128"
DATA = "--data=mnist_5k"


@pytest.mark.slow
def test_measures_equal_the_measures_of_the_run(process, cli, trained):
    entry = json.loads(next(trained.glob("mnist_*.json")).read_text())
    result = process("evaluate", MODEL, "--weights", trained, DATA)
    assert result.code == 0, result.err
    measures = loss.describe(entry["metrics"], "test_")
    assert f"mnist_5k, 1000 test images: {measures}\n" in result.out
    as_json = ["--weights", trained, DATA, "--json", "--split=validation"]
    result = cli("evaluate", MODEL, *as_json)
    assert result.code == 0 and result.err.startswith("note: NLL and ECE are of only 500 images")
    expected = {
        "split": "validation",
        "images": 500,
        "loss": pytest.approx(entry["metrics"]["validation_loss"]),
        "error_percent": entry["metrics"]["validation_error_percent"],
        "nll_nats": pytest.approx(entry["metrics"]["validation_loss"]),
    }
    printed = json.loads(result.out)
    assert {key: printed[key] for key in expected} == expected


@pytest.mark.slow
def test_the_flag_changes_adds_errors_on_changed_images(cli, trained):
    changed = ["--weights", trained, DATA, "--changes", "--split=validation"]
    result = cli("evaluate", MODEL, *changed, "--json")
    assert (result.code, result.err) == (0, "")
    rows = json.loads(result.out)["changes"]
    assert len(rows) == 26 and {row["images"] for row in rows} == {500}
    result = cli("evaluate", MODEL, *changed)
    assert "rotation" in result.out and f"{rows[0]['error_percent']:.2f}" in result.out


@pytest.mark.slow
def test_an_autoencoder_is_measured_by_the_loss_of_its_run(cli, tmp_path):
    folder = tmp_path / "run"
    result = cli(
        "train",
        "--config=mnist_autoencoder:mse=True,smoke=True",
        "--config.data.name=mnist_5k",
        "--config.data.train_examples=320",
        "--config.model.width=0.05",
        "--compile=off",
        "--workdir",
        folder,
    )
    assert result.code == 0, result.err
    metrics = json.loads(next(folder.glob("mnist_*.json")).read_text())["metrics"]
    model = ("--model=mnist_autoencoder", "--weights", folder, DATA)
    measures = loss.describe(metrics, "test_")
    assert result.out.splitlines()[0] == f"test {measures}"
    result = cli("evaluate", *model)
    assert (result.code, result.err) == (0, "")
    expected = f"mnist_autoencoder on mnist_5k, 1000 test images: {measures}\n"
    assert result.out == expected
    result = cli("evaluate", *model, "--json", "--split=validation")
    assert result.code == 0, result.err
    expected = {
        "split": "validation",
        "images": 500,
        "loss": pytest.approx(metrics["validation_loss"]),
        "squared_error": pytest.approx(metrics["validation_squared_error"]),
    }
    printed = json.loads(result.out)
    assert {key: printed[key] for key in expected} == expected


@pytest.mark.slow
def test_a_note_tells_that_another_data_set_gives_no_test_error(cli, trained, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    entry = json.loads((other / "outcome.json").read_text())
    old, tag = entry["tag"], entry["tag"].replace(".mnist_5k_", ".mnist_")
    (other / f"{old}.weights.h5").rename(other / f"{tag}.weights.h5")
    entry |= {"dataset": "mnist", "tag": tag}
    text = json.dumps(entry | {manifest.MEANING_HASH: manifest.meaning_hash(entry)})
    for name in "outcome.json", f"{tag}.json":
        (other / name).write_text(text)
    result = cli("evaluate", MODEL, "--weights", other, DATA)
    assert result.code == 0
    assert result.err.startswith("note: ") and "not a test error" in result.err


@pytest.fixture
def unverified(tmp_path):
    """A model that Keras saved."""
    zoo.get_model("mnist_mlp_8x128").save(tmp_path / "alone.keras")
    return tmp_path / "alone.keras"


def test_unverified_weights_need_a_flag(cli, unverified):
    result = cli("evaluate", MODEL, "--weights", unverified, DATA)
    assert result.code == 2 and "allow_unverified" in result.error
    result = cli("evaluate", MODEL, "--weights", unverified, DATA, "--allow_unverified")
    assert result.code == 0 and "error 9" in result.out  # about 90 %: untrained
    assert "has no names of classes" in result.err and "\nnote: " in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing: --data, --model, --weights. See --help."),
        ([MODEL, DATA, "--weights=."], "a folder with 0 weight files"),
        ([MODEL, "--weights=RUN", "--data=mnist5k"], "Did you mean 'mnist_5k'?"),
        ([MODEL, "--weights=RUN", DATA, "--activation=relu"], "Remove the argument"),
        (
            ["--model=mnist_autoencoder", "--weights=mnist", DATA, "--changes"],
            "--changes needs a classifier. Remove --changes.",
        ),
    ],
)
def test_a_mistake_is_refused(cli, trained, arguments, message):
    result = cli("evaluate", *(a.replace("RUN", str(trained)) for a in arguments))
    assert result.code == 2 and message in result.error


def test_all_images_of_new_data_are_measured(cli, trained, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (60, 28, 28, 1), np.uint8)
    names = [str(digit) for digit in range(10)]
    path = tmp_path / "new.npz"
    np.savez(path, x=images, y=np.arange(60) % 10, class_names=names)
    arguments = "evaluate", MODEL, "--weights", trained, f"--data={path}"
    result = cli(*arguments)
    assert "note: new has 60 images, of which a hash held out " in result.err
    result = cli(*arguments, "--split=all")
    assert "on new, 60 all images: error" in result.out
    assert "held out" not in result.err


@pytest.mark.parametrize(
    ("split", "on_validation", "has_note"),
    [*((s, False, True) for s in ("train", "all")), *(("validation", x, x) for x in (True, False))],
)
def test_a_note_tells_that_images_were_trained_on(
    cli, trained, tmp_path, split, on_validation, has_note
):
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder)
    for path in (folder / "outcome.json", *folder.glob("mnist_mlp_8x128*.json")):
        entry = json.loads(path.read_text())
        entry["config"]["data"]["train_on_validation"] = on_validation
        entry[manifest.MEANING_HASH] = manifest.meaning_hash(entry)
        path.write_text(json.dumps(entry))
    result = cli("evaluate", MODEL, "--weights", folder, DATA, f"--split={split}")
    assert result.code == 0, result.err
    assert bool(re.search("was trained on (some of )?these", result.err)) == has_note
