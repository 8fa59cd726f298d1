"""Commands on invalid flags, configs and data, which are refused and write no files.

More wrong flags are in tests/bin, more wrong fields in tests/training.
"""

import tempfile

import pytest
from binaries import run_here
from image_files import classes, fill

SMOKE = "--config=quickstart:smoke=True"


def _files(folder):
    """Returns {relative path: size in bytes, or None for a folder}."""
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder of the binaries."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def refused(here, tmp_path, monkeypatch):
    """A function that runs a binary which must fail, and returns the error line.

    It checks that the binary leaves no files in the working folder or in the folder of
    temporary files.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def run(code, binary, *arguments):
        before = _files(here)
        result = run_here(binary, *arguments)
        assert result.code == code, result.err
        assert _files(here) == before
        # TensorFlow deletes its __autograph files when the process ends.
        assert [name for name in _files(scratch) if "__autograph" not in name] == []
        return result.error

    return run


@pytest.mark.parametrize(
    ("flag", "word"),
    [
        ("--config.trian.epochs=2", "'train.epochs'?"),
        ("--config.model.activation.alhpa=1", "'model.activation.alpha'?"),
        ("--config.=3", "Unknown config entry ''"),
        ("--config.model.activation=relu", "Set --config.model.activation.alpha=..., "),
        ("--config.train.learning_rates[0]=0.2", "Set --config.train.learning_rates="),
        ("--config.train.learning_rate[0]=0.2", "'train.learning_rates'?"),
        ("--config.model.activation.alpha=1e300", "alpha"),
        ("--config=mnist_mlp_8x128", "set once"),
        ("--config.schedule=paper", "Use an argument"),
        ("--config.name=../../x", "relative path"),
        ("--config.name=", "relative path"),
    ],
)
def test_wrong_flags_of_training_are_refused(refused, flag, word):
    assert word in refused(2, "train", SMOKE, flag)


def test_a_folder_of_runs_that_cannot_be_written_is_refused(here):
    (here / "file").touch()
    result = run_here("reproduce", "fig2", "--budget=smoke", "--workdir=file/x")
    assert result.code == 1 and "is no folder" in result.err


def test_a_single_class_is_not_trained_on(refused, here):
    fill(here / "photos", classes({"a": 6}))
    assert "two classes" in refused(1, "train", "--config=mnist_mlp_5x256", "--data=photos")


def test_an_export_beside_versions_of_another_format_is_refused(refused, here):
    folder = here / "out" / "mnist_mlp_8x128" / "1"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"old")
    flags = "--model=mnist_mlp_8x128", "--weights=mnist", "--export_dir=out"
    assert "holds model.onnx" in refused(2, "export", *flags)
