"""elu-zoo-predict: predictions, warnings and errors."""

import json

import numpy as np
import pytest
import tensorflow as tf

from elu_zoo.data import load

MODEL = "--model=mnist_mlp_8x128"


def write_png(path, image):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(tf.io.encode_png(image).numpy())


@pytest.fixture
def digits(tmp_path):
    """The first test images of mnist_5k as PNG files."""
    images = load.load("mnist_5k").test.images[:3]
    for index, image in enumerate(images):
        write_png(tmp_path / "digits" / f"{index}.png", image)
    return tmp_path / "digits"


def rows(result):
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def test_weights_and_saved_model_agree(cli, trained, exported, digits):
    of_weights = (MODEL, "--weights", trained)
    of_export = ("--saved_model", exported)
    of_data = ("--data=mnist_5k", "--count=3", "--json")
    expected = rows(cli("predict", *of_weights, *of_data))
    labels = load.load("mnist_5k").test.labels[:3]
    assert [row["true"] for row in expected] == [str(label) for label in labels]
    assert [row["image"] for row in expected] == [f"mnist_5k test {i}" for i in "012"]
    for call in (
        (*of_export, *of_data),
        (*of_weights, digits, "--json"),
        (*of_export, *sorted(digits.iterdir()), "--json"),
    ):
        printed = rows(cli("predict", *call))
        assert [row["class"] for row in printed] == [row["class"] for row in expected]
        for row, other in zip(printed, expected, strict=True):
            assert list(row["probabilities"]) == list(other["probabilities"])
            np.testing.assert_allclose(
                list(row["probabilities"].values()),
                list(other["probabilities"].values()),
                atol=1e-5,
            )


def test_rows_have_the_names_of_files(cli, exported, digits, tmp_path):
    single = tmp_path / "single.png"
    write_png(single, np.zeros((40, 30, 3), np.uint8))  # another size, in colour
    found = rows(cli("predict", "--saved_model", exported, single, digits, "--json"))
    assert [row["image"] for row in found] == [
        str(single),
        *(f"{digits}/{index}.png" for index in range(3)),
    ]
    assert all("true" not in row for row in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Pass image files or folders, or set --data."),
        (["--saved_model=EXPORT", "a.png", "--data=mnist_5k"], "data. Received: both"),
        (["a.png"], "Set --saved_model alone, or --model and --weights."),
        (["--saved_model=EXPORT", MODEL, "a.png"], "Set --saved_model alone"),
        (["--saved_model=EXPORT", "--activation=elu", "a.png"], "--saved_model alone"),
        (["--saved_model=EXPORT", "--count=3", "a.png"], "--count needs --data"),
        (
            ["--saved_model=EXPORT", "--data=mnist_5k", "--picture=a.png"],
            "The model is a classifier. Remove --picture.",
        ),
        (["--saved_model=EXPORT", "--digit", "--data=mnist_5k"], "Remove --digit"),
        (["--saved_model=EXPORT", "--digit", "https://example.com/a.png"], "a URL"),
        (["--saved_model=nowhere", "a.png"], "nowhere does not exist."),
        (["--saved_model=.", "a.png"], "holds no exported model"),
    ],
)
def test_a_mistake_is_refused(cli, exported, arguments, message):
    result = cli("predict", *(a.replace("EXPORT", str(exported)) for a in arguments))
    assert result.code == 2 and message in result.error


def test_other_files_of_a_folder_are_skipped_with_a_warning(cli, exported, digits):
    (digits / "my.gif").write_bytes(b"GIF89a" + bytes(9))
    (digits / "notes.txt").write_text("not an image")
    result = cli("predict", "--saved_model", exported, digits, "--json")
    assert result.code == 1
    names = [json.loads(line)["image"] for line in result.out.splitlines()]
    assert names == [f"{digits}/{index}.png" for index in range(3)]
    reason = "cannot be used: it is a GIF; expected PNG, JPEG or WebP."
    assert result.err.splitlines() == [f"warning: {digits}/my.gif {reason}"]


@pytest.mark.slow
def test_one_damaged_file_among_several_is_skipped(process, exported, digits):
    """The only message is our warning; messages of the JPEG decoder are hidden."""
    image = np.random.default_rng(0).integers(0, 256, (96, 96, 1), np.uint8)
    photo = tf.io.encode_jpeg(image)
    (digits / "1.png").write_bytes(photo.numpy()[:-3000])
    paths = sorted(digits.iterdir())
    result = process("predict", "--saved_model", exported, *paths, "--json")
    assert result.code == 1
    names = [json.loads(line)["image"] for line in result.out.splitlines()]
    assert names == [f"{digits}/0.png", f"{digits}/2.png"]
    reason = "cannot be used: the file is damaged or cut off."
    assert result.err == f"warning: {digits}/1.png {reason}\n"


def test_dark_digits_on_white_are_reported(cli, trained, digits, tmp_path):
    for path in digits.iterdir():
        image = tf.io.decode_png(path.read_bytes())
        write_png(tmp_path / "paper" / path.name, 255 - image)
    result = cli("predict", MODEL, "--weights", trained, "paper", "--json")
    listed = "warning: 3 of 3 images (paper/0.png, paper/1.png, paper/2.png): "
    assert result.code == 0 and result.err.startswith(listed)
    assert result.err.endswith("pass --digit.\n")


def test_drawn_digits_need_digit(cli, exported, tmp_path):
    paper = np.full((90, 120, 1), 240, np.uint8)
    write_png(tmp_path / "blank.png", paper)
    paper[10:60, 80:86] = 20
    write_png(tmp_path / "one.png", paper)
    predict = "predict", "--saved_model", exported, "--json"
    result = cli(*predict, "--digit", "one.png")
    assert (result.code, result.err, len(rows(result))) == (0, "", 1)
    result = cli(*predict, "--digit", "one.png", "blank.png")
    assert result.code == 1 and len(result.out.splitlines()) == 1
    assert "warning: blank.png cannot be used: it shows no ink" in result.err
