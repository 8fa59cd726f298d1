"""Checkpoints: bit-identical restores, damaged files and full disks."""

import errno
import logging
import os
import resource
import shutil

import keras
import numpy as np
import pytest

from elu_zoo import errors, files
from elu_zoo.training.record.checkpoint import Checkpoints

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
    return {"step": step, "epoch_loss": (0.1 + 0.2) * step, "seconds": 1e-300}


def restore(workdir):
    """Returns the restored state; checks that the weights are of the same iteration."""
    variables = make_variables()
    restored = Checkpoints(workdir, variables, 3).restore()
    for variable, value in zip(variables, make_values(restored["step"]), strict=True):
        assert np.asarray(variable).tobytes() == value.tobytes()
    assert restored == make_state(restored["step"])
    return restored["step"]


def names_of(*steps):
    return [f"step-{step:09d}.npz" for step in steps]


def path_of(workdir, step):
    return workdir.joinpath("checkpoints", *names_of(step))


def names(workdir):
    return sorted(os.listdir(workdir / "checkpoints"))


def test_a_folder_without_checkpoints_restores_nothing(tmp_path):
    assert Checkpoints(tmp_path, make_variables(), 3).restore() is None


@pytest.mark.parametrize("kept, expected", [(1, [30]), (2, [20, 30]), (5, STEPS)])
def test_only_the_newest_checkpoints_are_kept(tmp_path, kept, expected):
    for step in STEPS:
        Checkpoints(tmp_path, make_variables(step), kept).save(make_state(step))
    assert names(tmp_path) == names_of(*expected)
    assert restore(tmp_path) == 30


def drop_an_array(path):
    with np.load(path) as arrays:
        kept = dict(list(arrays.items())[:-1])
    np.savez(path, **kept)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def make_link_to_nothing(path):
    path.unlink()
    path.symlink_to("nothing")


DAMAGES = {
    **{f"cut at {s}": lambda p, s=s: os.truncate(p, int(p.stat().st_size * s)) for s in (0, 0.7)},
    "last byte cut": lambda p: os.truncate(p, p.stat().st_size - 1),
    "zeroed": lambda p: p.write_bytes(bytes(p.stat().st_size)),
    "of another iteration": lambda p: shutil.copy(path_of(p.parent.parent, 20), p),
    "without an array": drop_an_array,
    "a named pipe": make_pipe,
    "a link to nothing": make_link_to_nothing,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_skipped_logged_and_replaced(saved, caplog, within, damage):
    DAMAGES[damage](path_of(saved, 30))
    with caplog.at_level(logging.ERROR, "absl"):
        assert within(restore, saved) == 20
    assert f"{path_of(saved, 30)} is damaged" in caplog.text
    assert names(saved) == names_of(10, 20)
    checkpoints = Checkpoints(saved, make_variables(30), 3)
    assert checkpoints.save(make_state(30)) and not checkpoints.save(make_state(30))
    assert restore(saved) == 30


def test_no_flipped_bit_gives_a_wrong_value(saved):
    path = path_of(saved, 30)
    content = path.read_bytes()
    generator = np.random.default_rng(0)
    restored = []
    for position in range(0, len(content), 11):
        flipped = bytearray(content)
        flipped[position] ^= 1 << generator.integers(8)
        path.write_bytes(flipped)
        restored.append(restore(saved))  # compares all values
    assert set(restored) == {20, 30} and restored.count(20) > len(restored) / 2


def test_checkpoints_that_are_all_damaged_are_refused_and_kept(saved):
    for step in STEPS:
        os.truncate(path_of(saved, step), 9)
    with pytest.raises(errors.CorruptError, match="damaged.*30.*10.*Delete this folder"):
        restore(saved)
    assert names(saved) == names_of(*STEPS)


@pytest.mark.parametrize("name", ["step-000000040.npz", "step-000000010"])
def test_a_folder_with_the_name_of_a_checkpoint_is_refused(saved, name):
    (saved / "checkpoints" / name).mkdir()
    with pytest.raises(errors.CorruptError, match=f"{name} .*Delete"):
        restore(saved)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_not_saved(saved, value):
    bad = make_variables(40)
    bad[0].assign(np.where(np.arange(12).reshape(3, 4) == 7, value, bad[0]))
    with pytest.raises(errors.TrainingError, match="v0 is not finite.*iteration 40"):
        Checkpoints(saved, bad, 3).save(make_state(40))
    assert restore(saved) == 30


@pytest.mark.parametrize(
    "other",
    [
        lambda: make_variables()[:2],
        lambda: [keras.Variable(np.zeros((4, 3)), name="v0"), *make_variables()[1:]],
        lambda: [keras.Variable(np.zeros((3, 4)), name="other"), *make_variables()[1:]],
    ],
)
def test_a_checkpoint_of_another_model_is_refused_and_changes_no_weight(saved, other):
    variables = other()
    before = [np.array(v) for v in variables]
    with pytest.raises(errors.CorruptError, match="another model"):
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
    assert names(saved) == names_of(*STEPS) and restore(saved) == 30


def test_a_checkpoint_that_cannot_be_read_is_not_deleted(saved, monkeypatch):
    def refuse(path, **_):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(files, "open_regular", refuse)
        with pytest.raises(errors.ResourceError, match="Nothing was changed"):
            restore(saved)
    assert names(saved) == names_of(*STEPS) and restore(saved) == 30


def test_files_beside_the_checkpoints_are_ignored_and_kept(saved):
    backup = path_of(saved, 30).with_suffix(".bak.npz")
    shutil.copy(path_of(saved, 30), backup)
    path_of(saved, 30).write_bytes(b"")
    assert restore(saved) == 20 and names(saved) == [*names_of(10, 20), backup.name]
