"""Checkpoints: bit-identical restores, damaged files and full disks."""

import errno
import json
import logging
import os
import resource
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

from elu_zoo import errors, files
from elu_zoo.training.record.checkpoint import FORMAT, Checkpoints, seal

STEPS = (10, 20, 30)


def make_values(step):
    generator = np.random.default_rng(step)
    return [generator.normal(size=s).astype("float32") for s in ((3, 4), (4,), ())]


def make_variables(step=0):
    values = enumerate(make_values(step))
    return [keras.Variable(value, name=f"v{i}") for i, value in values]


@pytest.fixture
def saved(tmp_path):
    """The folder of a run with checkpoints of three iterations."""
    for step in STEPS:
        Checkpoints(tmp_path, make_variables(step), 3).save(make_state(step))
    return tmp_path


def make_state(step):
    return {"step": step, "epoch_loss": step / 3, "metrics_length": 7 * step}


def restore(workdir):
    """Returns the restored state; checks that the weights are of the same iteration."""
    variables = make_variables()
    restored = Checkpoints(workdir, variables, 3).restore()
    for variable, value in zip(variables, make_values(restored["step"]), strict=True):
        assert np.asarray(variable).tobytes() == value.tobytes()
    return restored


def folders(workdir):
    return sorted(os.listdir(workdir / "checkpoints"))


def test_a_folder_without_checkpoints_restores_nothing(tmp_path):
    assert Checkpoints(tmp_path, make_variables(), 3).restore() is None


def test_the_restored_state_is_bit_identical(tmp_path):
    exact = {**make_state(1), "epoch_loss": 0.1 + 0.2, "seconds": 1e-300}
    Checkpoints(tmp_path, make_variables(1), 3).save(exact)
    assert restore(tmp_path) == exact


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_restored_optimizer_slots_are_bit_identical(tmp_path, optimizer):
    def build():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        arguments = {"momentum": 0.9} if optimizer == "SGD" else {}
        built = getattr(keras.optimizers, optimizer)(**arguments)
        built.build(model.trainable_variables)
        return model, built, [*model.variables, *built.variables]

    model, built, expected = build()
    for _ in range(3):
        built.apply([keras.ops.ones_like(v) for v in model.trainable_variables])
    Checkpoints(tmp_path, expected, 1).save(make_state(3))
    _, restored, variables = build()
    Checkpoints(tmp_path, variables, 1).restore()
    assert int(restored.iterations.numpy()) == 3
    assert len(variables) > 4
    for a, b in zip(variables, expected, strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("kept, expected", [(1, [30]), (2, [20, 30]), (5, STEPS)])
def test_only_the_newest_checkpoints_are_kept(tmp_path, kept, expected):
    for step in STEPS:
        Checkpoints(tmp_path, make_variables(step), kept).save(make_state(step))
    assert folders(tmp_path) == [f"step-{s:09d}" for s in expected]


def truncate(fraction):
    """Returns a function that cuts a file to a fraction of its size."""

    def damage(path):
        os.truncate(path, int(path.stat().st_size * fraction))

    return damage


def flip(seed):
    """Returns a function that flips a random bit of a file."""

    def damage(path):
        content = bytearray(path.read_bytes())
        bit = int(np.random.default_rng(seed).integers(8 * len(content)))
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)

    return damage


def swap_arrays(path):
    older = path.parent.parent / f"step-{20:09d}" / path.name
    shutil.copy(older, path)


def swap_folders(path):
    older = path.parent.parent / f"step-{20:09d}"
    shutil.copytree(older, path.parent, dirs_exist_ok=True)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


ARRAYS, MANIFEST = "arrays.npz", "manifest.json"
DAMAGES = {
    **{f"truncated at {s}": (ARRAYS, truncate(s)) for s in (0, 0.3, 0.7)},
    "last byte cut": (ARRAYS, lambda p: os.truncate(p, p.stat().st_size - 1)),
    "a byte added": (ARRAYS, lambda p: p.write_bytes(p.read_bytes() + b"\0")),
    **{f"bit flipped, draw {i}": (ARRAYS, flip(i)) for i in range(9)},
    "zeroed": (ARRAYS, lambda p: p.write_bytes(bytes(p.stat().st_size))),
    "arrays deleted": (ARRAYS, Path.unlink),
    "arrays of another step": (ARRAYS, swap_arrays),
    "folder of another step": (ARRAYS, swap_folders),
    "manifest deleted": (MANIFEST, Path.unlink),
    "manifest empty": (MANIFEST, truncate(0)),
    "manifest truncated": (MANIFEST, truncate(0.5)),
    "manifest not text": (MANIFEST, lambda p: p.write_bytes(b"\xff\xfe\xfd")),
    "manifest a list": (MANIFEST, lambda p: p.write_text("[]")),
    **{f"manifest flipped, draw {i}": (MANIFEST, flip(i)) for i in range(9)},
    "manifest without entries": (MANIFEST, lambda p: p.write_text("{}")),
    "manifest nested": (MANIFEST, lambda p: p.write_text("[" * 100_000)),
    "manifest of a terabyte": (MANIFEST, lambda p: os.truncate(p, 1 << 40)),
    "manifest a named pipe": (MANIFEST, make_pipe),
    "arrays a named pipe": (ARRAYS, make_pipe),
    "both deleted": (ARRAYS, lambda p: [q.unlink() for q in p.parent.iterdir()]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_skipped_and_logged(saved, caplog, within, damage):
    name, apply = DAMAGES[damage]
    apply(saved / "checkpoints" / f"step-{30:09d}" / name)
    with caplog.at_level(logging.ERROR, "absl"):
        assert within(restore, saved) == make_state(20)
    assert f"step-{30:09d} is damaged" in caplog.text
    # `save` replaces a damaged checkpoint. It leaves an intact one as it is.
    checkpoints = Checkpoints(saved, make_variables(30), 3)
    assert checkpoints.save(make_state(30))
    assert restore(saved) == make_state(30)
    assert not checkpoints.save(make_state(30))


OBSTACLES = {
    "a file": lambda p: p.write_text("no folder"),
    "an empty folder": Path.mkdir,
    "a named pipe": os.mkfifo,
    "a link to nothing": lambda p: p.symlink_to("nothing"),
    "a link to a folder": lambda p: p.symlink_to(p.parent.parent),
}


@pytest.mark.parametrize("kind", OBSTACLES)
def test_restoring_deletes_an_obstacle_with_the_name_of_a_checkpoint(saved, caplog, kind):
    newest = saved / "checkpoints" / f"step-{40:09d}"
    OBSTACLES[kind](newest)
    assert restore(saved) == make_state(30)
    assert f"{newest} is damaged (" in caplog.text
    assert not os.path.lexists(newest)


@pytest.mark.parametrize("kind", OBSTACLES)
def test_saving_renames_an_obstacle(saved, caplog, kind):
    target = saved / "checkpoints" / f"step-{40:09d}"
    checkpoints = Checkpoints(saved, make_variables(40), 3)
    OBSTACLES[kind](target)
    with caplog.at_level(logging.WARNING, "absl"):
        assert checkpoints.save(make_state(40))
    assert f"{target} was not written by this run. It was renamed to" in caplog.text
    assert os.path.lexists(f"{target}.moved")
    assert restore(saved) == make_state(40)


def test_a_file_named_like_a_later_checkpoint_displaces_no_checkpoint(saved):
    later = saved / "checkpoints" / f"step-{50:09d}"
    later.touch()
    Checkpoints(saved, make_variables(40), 1).save(make_state(40))
    assert folders(saved) == [f"step-{s:09d}" for s in (40, 50)]


def test_checkpoints_that_are_all_damaged_are_refused_and_kept(saved):
    for step in STEPS:
        flip(step)(saved / "checkpoints" / f"step-{step:09d}" / ARRAYS)
    words = "Every checkpoint .* damaged.*000000030.*000000010.*Delete this folder"
    with pytest.raises(errors.CorruptError, match=words):
        restore(saved)
    assert len(folders(saved)) == 3


def change_manifest(saved, **entries):
    path = saved / "checkpoints" / f"step-{30:09d}" / MANIFEST
    path.write_text(seal({**json.loads(path.read_text()), **entries}))


def test_a_checkpoint_of_a_newer_format_is_refused_and_kept(saved):
    change_manifest(saved, format=FORMAT + 1)
    with pytest.raises(errors.CorruptError, match="format 2, but .* up to 1. Upgrade"):
        restore(saved)
    assert len(folders(saved)) == 3


def test_a_checkpoint_of_other_versions_is_restored_and_logged(saved, caplog):
    change_manifest(saved, versions={"elu_zoo": "0.0.1"})
    with caplog.at_level(logging.WARNING, "absl"):
        assert restore(saved) == make_state(30)
    assert "0.0.1" in caplog.text and "may therefore differ" in caplog.text


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_not_saved(saved, value):
    bad = make_variables(40)
    bad[0].assign(np.where(np.arange(12).reshape(3, 4) == 7, value, bad[0]))
    with pytest.raises(errors.TrainingError, match="v0 is not finite.*iteration 40"):
        Checkpoints(saved, bad, 3).save(make_state(40))
    assert restore(saved) == make_state(30)


@pytest.mark.parametrize(
    "other",
    [
        lambda: make_variables()[:2],
        lambda: [*make_variables(), keras.Variable(1.0)],
        lambda: [keras.Variable(np.zeros((4, 3)), name="v0"), *make_variables()[1:]],
        lambda: [keras.Variable(np.zeros((3, 4)), name="other"), *make_variables()[1:]],
    ],
)
def test_a_checkpoint_of_another_model_is_refused_and_changes_no_weight(saved, other):
    variables = other()
    before = [np.array(v) for v in variables]
    with pytest.raises(errors.CorruptError, match="another model or optimizer"):
        Checkpoints(saved, variables, 3).restore()
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


@pytest.mark.parametrize("size", [0, 800])
def test_a_full_disk_keeps_earlier_checkpoints(saved, size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # a full disk
    try:
        with pytest.raises(errors.ResourceError, match="iteration 40 .*30 is kept"):
            Checkpoints(saved, make_variables(40), 1).save(make_state(40))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folders(saved) == [f"step-{s:09d}" for s in STEPS]
    assert restore(saved) == make_state(30)


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO])
def test_a_checkpoint_that_cannot_be_read_is_not_deleted(saved, monkeypatch, number):
    def refuse(path, **_):
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(files, "open_regular", refuse)
        with pytest.raises(errors.ResourceError, match="Nothing was changed. Run"):
            restore(saved)
    assert len(folders(saved)) == 3 and restore(saved) == make_state(30)


def test_a_backup_beside_the_checkpoints_is_ignored_and_kept(saved):
    name = f"step-{30:09d}"
    backup = saved / "checkpoints" / f"{name}.bak"
    shutil.copytree(saved / "checkpoints" / name, backup)
    truncate(0)(saved / "checkpoints" / name / ARRAYS)
    assert restore(saved) == make_state(20) and backup.is_dir()


def test_leftovers_of_a_killed_save_are_removed(saved):
    leftover = saved / "checkpoints" / f".step-{40:09d}.abc123"
    leftover.mkdir()
    (leftover / ARRAYS).write_bytes(b"half")
    assert restore(saved) == make_state(30)
    Checkpoints(saved, make_variables(40), 3).save(make_state(40))
    assert folders(saved) == [f"step-{s:09d}" for s in (20, 30, 40)]
