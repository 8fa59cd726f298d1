"""Exports that the command rejects; tests/export has the tests of the library."""

import resource

import pytest

MODEL = "--model=mnist_mlp_8x128", "--weights=mnist"


def _version(here, number, file="saved_model.pb"):
    folder = here / "out" / "mnist_mlp_8x128" / str(number)
    folder.mkdir(parents=True)
    (folder / file).write_bytes(b"old")
    return folder


def test_a_version_that_exists(refused, here):
    path = _version(here, 7) / "saved_model.pb"
    error = refused(2, "export", *MODEL, "--export_dir=out", "--version=7")
    assert "out/mnist_mlp_8x128/7 exists already and is never over" in error
    assert "Leave out the version to write 8" in error
    assert path.read_bytes() == b"old"


def test_a_version_among_those_of_another_format(refused, here):
    _version(here, 1, "model.onnx")
    error = refused(2, "export", *MODEL, "--export_dir=out")
    assert "out/mnist_mlp_8x128/1 holds model.onnx" in error


@pytest.mark.parametrize("already", [False, True])
def test_a_full_disk(refused, here, already):
    replace = []
    if already:
        _version(here, 1)
        replace = ["--replace"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        error = refused(1, "export", *MODEL, "--export_dir=out", *replace)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "Cannot export to out/mnist_mlp_8x128: " in error


def test_differences_from_the_keras_model(refused, monkeypatch):
    from elu_zoo.export import checks

    monkeypatch.setattr(checks.compare, "__defaults__", (-1.0,))
    error = refused(1, "export", *MODEL, "--export_dir=out")
    assert "The logits of the signature serving_default differ by" in error
