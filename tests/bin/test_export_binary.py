"""elu-zoo-export: versions, names, formats and errors."""

import importlib.util

import numpy as np
import pytest

from elu_zoo import zoo
from elu_zoo.export.saved_model import load_saved_model

NET = "mnist_mlp_8x128"
MODEL = f"--model={NET}"


@pytest.mark.slow
def test_each_export_gets_the_next_version(process, cli, trained, tmp_path):
    arguments = [MODEL, "--weights", trained, "--export_dir=out"]
    result = process("export", *arguments)
    assert (result.code, result.out) == (0, "out/mnist_mlp_8x128/1\n"), result.err
    images = np.random.default_rng(0).integers(0, 256, (2, 28, 28, 1))
    model = zoo.get_model("mnist_mlp_8x128", weights=trained)
    loaded = load_saved_model(tmp_path / "out")
    np.testing.assert_allclose(loaded.predict(images)["logits"], model(images), rtol=0, atol=1e-5)
    assert loaded.class_names == tuple("0123456789")
    result = cli("export", *arguments, "--version=1")
    assert result.code == 2 and "out/mnist_mlp_8x128/1 exists already" in result.error
    result = cli("export", *arguments)
    assert (result.code, result.out) == (0, "out/mnist_mlp_8x128/2\n")
    result = cli("export", *arguments, "--version=7")
    assert (result.code, result.out) == (0, "out/mnist_mlp_8x128/7\n")


@pytest.mark.slow
def test_other_weights_need_another_name_or_replace(cli, process, trained, monkeypatch):
    assert cli("export", MODEL, "--weights=mnist", "--export_dir=out").code == 0
    flags = MODEL, "--weights", trained, "--export_dir=out"
    with monkeypatch.context() as patch:
        patch.setattr(zoo, "get_model", pytest.fail)
        refused = cli("export", *flags).error
    assert "--name=<another name>" in refused and "--replace" in refused
    result = cli("export", *flags, "--name=my_digits")
    assert (result.code, result.out, result.err) == (0, "out/my_digits/1\n", "")
    result = process("export", *flags, "--replace")
    assert (result.code, result.out) == (0, f"out/{NET}/2\n")
    assert f"version 2 of {NET} replaces version 1" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing: --model, --weights."),
        ([MODEL, "--weights=RUN", "--export_dir=o", "extra"], "Unexpected arguments"),
        (
            [MODEL, "--weights=RUN", "--export_dir=o", "--quantize=dynamic"],
            "Only --format=litert can be quantized",
        ),
        ([MODEL, "--weights=RUN", "--export_dir=o", "--name=../net"], "name must consist"),
        ([MODEL, "--weights=RUN", "--exportdir=o"], "Did you mean '--export_dir'?"),
        ([MODEL, "--weights=RUN", "--push=hf:a/b", "--replace"], "Remove --replace"),
    ],
)
def test_a_mistake_is_refused(cli, trained, tmp_path, arguments, message):
    result = cli("export", *(a.replace("RUN", str(trained)) for a in arguments))
    assert result.code == 2 and message in result.error
    assert not (tmp_path / "o").exists()


def test_a_file_in_place_of_the_export_folder_is_refused(cli, trained, tmp_path):
    (tmp_path / "file").touch()
    result = cli("export", MODEL, "--weights", trained, "--export_dir=file")
    assert result.code == 1 and "Cannot export to file" in result.error


@pytest.mark.parametrize(
    ("format", "file", "package"),
    [("onnx", "model.onnx", "tf2onnx"), ("litert", "model.tflite", "ai_edge_litert")],
)
def test_other_formats_need_their_package(cli, tmp_path, monkeypatch, format, file, package):
    arguments = [MODEL, "--weights=mnist", f"--format={format}", "--export_dir=out"]
    with monkeypatch.context() as patch:
        find = importlib.util.find_spec
        patch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *rest: None if name == package else find(name, *rest),
        )
        result = cli("export", *arguments)
    assert result.code == 2 and f'pip install "elu-zoo[{format}]"' in result.error
    assert not (tmp_path / "out").exists()
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    result = cli("export", *arguments)
    assert (result.code, result.out) == (0, "out/mnist_mlp_8x128/1\n"), result.err
    folder = tmp_path / "out/mnist_mlp_8x128/1"
    assert {path.name for path in folder.iterdir()} == {*(file, "labels.txt", "elu_zoo.json")}
