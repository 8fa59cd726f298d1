"""models.config: the list of exports for TensorFlow Serving."""

import warnings

import pytest

from elu_zoo import errors
from elu_zoo.export import models_config

EXPECTED = """\
model_config_list {
  config {
    name: "a"
    base_path: "/models/a"
    model_platform: "tensorflow"
  }
  config {
    name: "b-1.x"
    base_path: "/models/b-1.x"
    model_platform: "tensorflow"
  }
}
"""


def add(directory, name, file="saved_model.pb"):
    path = directory / name / file
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")


@pytest.fixture
def folder(tmp_path):
    """A folder with two SavedModels, and other files that must not be listed."""
    for name in ("b-1.x/3", "a/1", "a/2"):
        add(tmp_path, name)
    for name in ("a/.3.x", "hidden/.1.x", "c/latest", "12/1", 'quo"te/1', ".d/1"):
        add(tmp_path, name)
    add(tmp_path, "onnx/1", "model.onnx")
    add(tmp_path, "notes", "1")
    return tmp_path


def test_saved_models_are_listed(folder):
    models_config.write(folder)
    assert (folder / "models.config").read_text() == EXPECTED
    assert not list(folder.glob(".models*"))


def test_tensorflow_serving_reads_the_list(folder):
    pytest.importorskip("tensorflow_serving")
    with warnings.catch_warnings():
        # The code was generated for an earlier protobuf, which causes a warning.
        warnings.simplefilter("ignore")
        from google.protobuf import text_format
        from tensorflow_serving.config import model_server_config_pb2
    parsed = model_server_config_pb2.ModelServerConfig()
    text_format.Parse(models_config.text(folder), parsed)
    configs = parsed.model_config_list.config
    found = [(x.name, x.base_path, x.model_platform) for x in configs]
    expected = [(name, f"/models/{name}", "tensorflow") for name in ("a", "b-1.x")]
    assert found == expected


def test_folders_that_are_no_models_are_not_read(folder, monkeypatch):
    read = models_config.versions.versions

    def refuse(path):  # as lost+found of a volume does, which root alone reads
        if path.name == "lost+found":
            raise PermissionError
        return read(path)

    (folder / "12").rename(folder / "lost+found")
    monkeypatch.setattr(models_config.versions, "versions", refuse)
    assert models_config.text(folder) == EXPECTED
    with pytest.raises(errors.UsageError, match="several models: a, b-1.x,"):
        models_config.versions.find_version(folder)


def test_an_export_at_the_same_time_is_listed(folder, monkeypatch):
    write = models_config.files.write_bytes

    def slow(path, content):
        if not (folder / "z").exists():
            add(folder, "z/1")  # after the listing, before the write
        write(path, content)

    monkeypatch.setattr(models_config.files, "write_bytes", slow)
    models_config.write(folder)
    assert 'name: "z"' in (folder / "models.config").read_text()


def test_full_disk_keeps_the_old_list(folder, monkeypatch):
    models_config.write(folder)
    add(folder, "z/1")

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(models_config.files, "write_bytes", full)
    with pytest.raises(errors.ResourceError, match="No space"):
        models_config.write(folder)
    assert (folder / "models.config").read_text() == EXPECTED
