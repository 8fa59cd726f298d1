"""Exports that are refused by the command; `tests/export` has those of the library."""

import resource

import pytest

MODEL = "--model=mnist_mlp_8x128", "--weights=mnist"


def _version(here, number, file="saved_model.pb"):
    folder = here / "out" / "mnist_mlp_8x128" / str(number)
    folder.mkdir(parents=True)
    (folder / file).write_bytes(b"of before")
    return folder


@pytest.mark.parametrize("exists", [1, 7])
def test_a_version_that_exists(refused, here, exists):
    path = _version(here, exists) / "saved_model.pb"
    error = refused(2, "export", *MODEL, "--export_dir=out", f"--version={exists}")
    assert f"out/mnist_mlp_8x128/{exists} exists already and is never over" in error
    assert f"Leave out the version to write {exists + 1}" in error
    assert path.read_bytes() == b"of before"


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
