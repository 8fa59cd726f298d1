"""Commands with the images and activations of a user."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.activations import table

MODULE = """
import elu_zoo

@elu_zoo.register_activation
def halved(x):
    return x / 2
"""
MODEL = "--model=mnist_mlp_8x128"
TRAIN = "train", "--config=finetune:model=mnist_mlp_8x128,weights=mnist,epochs=1"
SHORT = "--compile=off", "--config.train.batch_size=8", "--workdir=run"


@pytest.fixture
def photos(tmp_path):
    """A folder of 20 noise images for each of two classes, night and day."""
    generator = np.random.default_rng(0)
    for name, shade in {"night": 10, "day": 200}.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(20):
            pixels = generator.integers(0, 50, (20 + i, 30, 3)) + shade
            content = tf.io.encode_png(pixels.astype("uint8")).numpy()
            (tmp_path / "photos" / name / f"{i}.png").write_bytes(content)
    return tmp_path / "photos"


def test_a_folder_is_trained_on_evaluated_predicted_and_exported(cli, photos, tmp_path):
    result = cli(*TRAIN, "--data=photos/", *SHORT)
    assert result.code == 0, result.err
    assert "iterations: set more epochs" in result.err
    entry = json.loads((tmp_path / "run/outcome.json").read_text())
    assert (entry["dataset"], entry["classes"]) == ("photos", ["day", "night"])
    assert entry["config"]["name"] == "finetune-mnist_mlp_8x128-mnist@photos"
    again = cli(*TRAIN, "--data=photos", *SHORT)  # without the slash
    assert (again.code, again.out) == (0, result.out)

    weights = "--weights=run"
    result = cli("evaluate", MODEL, weights, "--data=photos", "--json")
    assert result.code == 0, result.err
    error = entry["metrics"]["test_error_percent"]
    assert json.loads(result.out)["error_percent"] == pytest.approx(error)
    assert "have changed" not in result.err

    result = cli("predict", MODEL, weights, "--json", photos / "day/3.png")
    assert set(json.loads(result.out)["probabilities"]) == {"day", "night"}
    result = cli("predict", MODEL, weights, "--json", "--data=photos", "--count=2")
    assert json.loads(result.out.splitlines()[0])["true"] in ("day", "night")
    result = cli("export", MODEL, weights, "--export_dir=exports")
    labels = tmp_path / result.out.strip() / "assets/labels.txt"
    assert labels.read_text() == "day\nnight\n"

    (tmp_path / "cats").mkdir()
    shutil.copytree(photos / "night", tmp_path / "cats/night")
    result = cli("evaluate", MODEL, weights, "--data=cats", "--split=all")
    assert result.code == 0, result.err
    assert "on cats, 20 all images: error" in result.out
    assert "no image of 1 of the model's 2 classes: day. The measures" in result.err
    (tmp_path / "cats/night").rename(tmp_path / "cats/Nigth")
    result = cli("evaluate", MODEL, weights, "--data=cats")
    assert result.code == 2 and "Did you mean 'night'?" in result.error

    (photos / "day/3.png").unlink()
    result = cli("evaluate", MODEL, weights, "--data=photos")
    assert result.code == 0
    assert "was trained on photos; the images have changed since" in result.err


def test_a_finished_run_refuses_changed_images(cli, photos):
    first = cli(*TRAIN, "--data=photos", *SHORT)
    assert first.code == 0, first.err
    added = photos / "day/new.png"
    added.write_bytes((photos / "night/3.png").read_bytes())
    result = cli(*TRAIN, "--data=photos", *SHORT)
    assert (result.code, result.out) == (1, "")
    assert "changed since the run in run began. The run began with photos-" in (result.error)
    assert result.error.endswith("files and folders, or pass another --workdir.")
    added.unlink()
    again = cli(*TRAIN, "--data=photos", *SHORT)
    assert (again.code, again.out) == (0, first.out)
    shutil.rmtree(photos)  # a finished run does not need its images
    again = cli(*TRAIN, "--data=photos", *SHORT)
    assert (again.code, again.out) == (0, first.out)
    assert "are not compared with those of the run: " in again.err


@pytest.mark.slow
def test_a_network_is_trained_from_scratch_on_a_folder(cli, photos, tmp_path):
    result = cli(
        "train",
        "--config=mnist_mlp_5x256",
        "--data=photos",
        "--compile=off",
        "--config.train.epochs=1",
        "--config.train.batch_size=8",
    )
    assert result.code == 0, result.err
    assert (tmp_path / "runs/mnist_mlp_5x256@photos/elu-s0/outcome.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data=phots/"], "no folder or .npz file phots/. Did you mean 'photos'?"),
        (["--data=none.npz"], "There is no file none.npz"),
        (["--data=photos", "--config.data.image_shape=(28,)"], "image_shape must be (heig"),
        (["--data=photos", "--config.train.freeze=('body','dens1')"], "mean 'dense1'?"),
        ([], "data.name is missing. Set --data"),
    ],
)
def test_a_mistake_is_refused_before_work_starts(cli, photos, tmp_path, arguments, message):
    result = cli(*TRAIN, *SHORT, *arguments)
    assert result.code == 2 and message in result.error
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_activation_of_a_module_is_trained_and_exported(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "_table", dict(table._table))
    (tmp_path / "my_units.py").write_text(MODULE)
    module = "--module=my_units.py"
    smoke = "--config=quickstart:smoke=True,activation=halved"
    result = cli("train", module, smoke, "--compile=off")
    assert result.code == 0, result.err
    weights = "--weights=runs/quickstart/halved-s0-smoke"
    result = cli("export", module, MODEL, weights, "--export_dir=exports")
    assert result.code == 0, result.err
    result = cli("predict", "--saved_model=exports", "--data=mnist_5k", "--json")
    assert result.code == 0, result.err  # an export works without the module


def test_finetuning_reduces_the_batch_for_few_images(cli, photos, tmp_path):
    flags = "--data=photos", "--compile=off", "--workdir=run", "--accumulate=4"
    flags += ("--config.train.batch_size=32",)
    result = cli(*TRAIN, *flags)
    assert result.code == 0, result.err
    warning = r"(\d+) training images are too few for batches of 32. .* reduced to (\d+)"
    count, size = map(int, re.search(warning, result.err).groups())
    entry = json.loads((tmp_path / "run/outcome.json").read_text())
    assert (entry["batch_size"], entry["step"]) == (4, count // size)
    photos.rename(tmp_path / "gone")  # a finished run does not need its images
    again = cli(*TRAIN, *flags)
    assert (again.code, again.out) == (0, result.out)
