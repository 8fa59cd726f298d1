"""Exports that the command refuses. Unit tests of exports are in tests/export."""

import resource

MODEL = "--model=mnist_mlp_8x128", "--weights=mnist"


def write_version(here, file):
    """Writes version 1 of an export, which has only the file `file`."""
    folder = here / "out" / "mnist_mlp_8x128" / "1"
    folder.mkdir(parents=True)
    (folder / file).write_bytes(b"old")


def test_an_export_beside_versions_of_another_format_is_refused(refused, here):
    write_version(here, "model.onnx")
    error = refused(2, "export", *MODEL, "--export_dir=out")
    assert "out/mnist_mlp_8x128/1 holds model.onnx" in error


def test_a_full_disk_keeps_the_versions_that_exist(refused, here):
    write_version(here, "saved_model.pb")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # a full disk
    try:
        error = refused(1, "export", *MODEL, "--export_dir=out", "--replace")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "Cannot export to out/mnist_mlp_8x128: " in error
