"""elu-zoo-export and elu-zoo-predict with an autoencoder."""

import json

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo import zoo
from elu_zoo.data import load
from elu_zoo.export import pictures, predictor
from elu_zoo.export.saved_model import export_saved_model, load_saved_model
from elu_zoo.weights import pretrained

MODEL = "--model=mnist_autoencoder"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alone.keras"
    zoo.get_model("mnist_autoencoder").save(path)
    return {"weights": path, "allow_unverified": True}


@pytest.fixture(scope="module")
def exported(weights, tmp_path_factory):
    found = pretrained.find("mnist_autoencoder", **weights)
    model = zoo.get_model("mnist_autoencoder", weights=found)
    described = predictor.description(model, "mnist_autoencoder", found)
    base = tmp_path_factory.mktemp("exported")
    export_saved_model(model, base, name="net", **described)
    return f"--saved_model={base}"


def rows(result):
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def test_weights_and_saved_model_agree(cli, weights, tmp_path):
    of_weights = [MODEL, f"--weights={weights['weights']}", "--allow_unverified"]
    result = cli("export", *of_weights, "--export_dir=exports")
    assert (result.code, result.out) == (0, "exports/mnist_autoencoder/1\n"), result.err
    of_data = ("--data=mnist_5k", "--count=3")
    test = load.load("mnist_5k").test.first(3)
    outputs = load_saved_model("exports").predict(test.images)
    reconstructions = outputs["reconstructions"]
    difference = (reconstructions.astype(np.float64) - test.images) / 255
    pairs = pictures.pairs(test.images, reconstructions).astype(int)
    for index, model in enumerate((of_weights, ["--saved_model=exports"])):
        picture = tmp_path / "new" / f"{index}.png"
        result = cli("predict", *model, *of_data, "--json", "--picture", picture)
        printed = rows(result)
        assert result.err.splitlines()[-1] == (
            f"3 of 3 images, each above its reconstruction: {picture}"
        )
        for i, row in enumerate(printed):
            assert list(row) == ["image", "true", "squared_error", "code"]
            assert row["image"] == f"mnist_5k test {i}"
            assert row["true"] == str(test.labels[i])
            error = (difference[i] ** 2).sum()
            np.testing.assert_allclose(row["squared_error"], error, rtol=1e-5)
            np.testing.assert_allclose(row["code"], outputs["codes"][i], rtol=1e-4, atol=1e-4)
        pixels = tf.io.decode_png(picture.read_bytes()).numpy().astype(int)
        assert np.abs(pixels - pairs).max() <= 1


def test_no_picture_is_written_by_default(cli, exported, tmp_path):
    result = cli("predict", exported, "--data=mnist_5k", "--count=2", "--json")
    assert len(rows(result)) == 2 and list(tmp_path.iterdir()) == []


def test_the_table_has_errors_but_no_codes(cli, exported, tmp_path):
    image = load.load("mnist_5k").test.images[0]
    (tmp_path / "digit.png").write_bytes(tf.io.encode_png(image).numpy())
    result = cli("predict", exported, "digit.png", "--picture=pair.png")
    assert result.code == 0, result.err
    note, *table = result.out.splitlines()
    assert "squared_error" in table[1] and "true" not in table[1]
    assert "digit.png" in table[3] and "code" not in result.out
    assert note == "1 of 1 images, each above its reconstruction: pair.png"
    picture = tf.io.decode_png((tmp_path / "pair.png").read_bytes())
    assert picture.shape == (226, 112, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--top=3"], 2, "The model is an autoencoder. Remove --top."),
        (["--picture=a.jpg"], 2, "--picture must end in .png. Received: 'a.jpg'."),
        (["--picture="], 2, "flag --picture=: Set it to a file or a folder."),
        (["--picture=folder.png"], 1, "Cannot write folder.png: Is a directory."),
    ],
)
def test_a_mistake_is_refused(cli, exported, tmp_path, arguments, code, message):
    (tmp_path / "folder.png").mkdir()
    result = cli("predict", exported, "--data=mnist_5k", *arguments)
    assert result.code == code and message in result.error
    assert {path.name for path in tmp_path.iterdir()} == {"folder.png"}
