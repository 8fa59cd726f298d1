"""Commands with the ImageNet network, on folders of images."""

import json

import pytest
import small_images

from elu_zoo.evaluation import loss

SMOKE = "--config=elu_imagenet_15:smoke=True"
MODEL = "--model=elu_imagenet_15"
SMALL = [f"--config.{key}={value}" for key, value in small_images.ENTRIES.items()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of images of three classes."""
    root = tmp_path_factory.mktemp("images") / "small"
    small_images.write_splits(root)
    return root


def measures(workdir):
    """Returns the entry of a run, and its test measures as numbers and as text."""
    (path,) = workdir.glob("elu_imagenet_15*.json")
    entry = json.loads(path.read_text())
    numbers = {key[5:]: value for key, value in entry["metrics"].items()
               if key.startswith("test_")}  # fmt: skip
    return entry, numbers, loss.describe(numbers)


@pytest.mark.slow
def test_a_run_is_evaluated_and_exported(cli, tmp_path, folder):
    result = cli(
        "train",
        SMOKE,
        *SMALL,
        f"--config.data.folder={folder}",
        "--accumulate=2",
        "--config.train.epochs=2",
    )
    assert result.code == 0, result.err
    run = tmp_path / "runs/elu_imagenet_15/elu-s0-smoke"
    entry, numbers, text = measures(run)
    weights = f"{run.relative_to(tmp_path)}/{entry['tag']}.weights.h5"
    assert result.out == f"test {text}\nweights {weights}\n"
    start = json.loads((run / "timing.jsonl").read_text().splitlines()[0])
    assert start["accumulate"] == 2 and "--accumulate=2" in entry["command"]

    arguments = (MODEL, "--weights", run, "--data", folder)
    result = cli("evaluate", *arguments)
    assert result.code == 0 and result.err.startswith("note: No temperature: the validation")
    lines = result.out.splitlines()
    assert lines[0] == f"elu_imagenet_15 on small, 12 test images: {text}"
    assert len(lines) == 2 and lines[1].startswith("calibration: nll_nats ")
    result = cli("evaluate", *arguments, "--json")
    expected = {"split": "test", "images": 12, **numbers}
    printed = json.loads(result.out)
    assert {key: printed[key] for key in expected} == pytest.approx(expected)
    result = cli("evaluate", *arguments, "--split=train")
    assert result.code == 0 and "on small, 21 train images: error" in result.out
    assert "was trained on these train images" in result.err

    exported = cli("export", MODEL, "--weights", run, "--export_dir=exports")
    assert exported.code == 0, exported.err
    labels = tmp_path / "exports/elu_imagenet_15/1/assets/labels.txt"
    assert labels.read_text().split() == ["class000", "class001", "class002"]

    small_images.write_splits(tmp_path / "two", classes=2)
    result = cli("evaluate", *arguments[:3], "--data=two")
    assert result.code == 0 and "of the model's 3 classes: class002" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--config.data.folder=gone"], 2, "There is no folder gone."),
        (["--config.data.folder=empty"], 1, "empty holds no images"),
        (["--data_dir=empty"], 1, "Or use a folder of image files: set --config.data"),
        (["--config.data.name=cifar10"], 2, "elu_imagenet_15 cannot be trained on cif"),
    ],
)
def test_a_mistake_is_refused(cli, tmp_path, arguments, code, message):
    (tmp_path / "empty").mkdir()
    result = cli("train", SMOKE, *arguments)
    assert result.code == code and message in result.error
    assert not (tmp_path / "runs").exists()
