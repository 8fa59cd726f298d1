"""What a run depends on, compared with what it began with."""

import contextlib
import logging
import re
from unittest import mock

import pytest

from elu_zoo import errors
from elu_zoo.training.record.resuming import RunIdentity, check_finished, compare

CONFIG = {"train": {"epochs": 2, "batch_size": 64}, "data": {"name": "./a"}}
BEGAN = RunIdentity(CONFIG, "", "c1", "a-1", {"keras": "3.0"}, 1, 1)


def changed(**fields):
    return {"config": {key: {**CONFIG[key], **fields.pop(key, {})} for key in CONFIG}, **fields}


@pytest.mark.parametrize(
    ("now", "allowed", "error", "words"),
    [
        (changed(train={"epochs": 3}), False, errors.UsageError, "epochs: 2 -> 3.*allow_config"),
        (changed(train={"batch_size": 32}), False, errors.UsageError, "batch_size: .*workdir"),
        (changed(train={"keep_best": True}), True, errors.UsageError, "resumed.*another --workdir"),
        (changed(data={"name": "mnist"}), True, errors.UsageError, "name: .*workdir"),
        ({"config": CONFIG | {"seed": 1}}, True, errors.UsageError, "seed: .*workdir"),
        ({"images": "a-2"}, True, errors.DataError, "images have changed.*a-1.*a-2.*Restore"),
        ({"parent": "tag"}, True, errors.DataError, "weights none, .* now selects tag"),
    ],
)
def test_other_values_are_refused(tmp_path, now, allowed, error, words):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step-000000001.npz").touch()
    with pytest.raises(error, match=words):
        compare(BEGAN, RunIdentity(**{**vars(BEGAN), **now}), tmp_path, allowed)


@pytest.mark.parametrize(
    ("now", "recorded", "logged"),
    [
        ({}, [], ""),
        (changed(train={"epochs": 3}), ["train.epochs: 2 -> 3"], ""),
        (changed(train={"batch_size": 9}), ["train.batch_size: 64 -> 9"], ""),  # no checkpoint yet
        (changed(data={"name": "./b"}), ["data.name: './a' -> './b'"], ""),  # images are compared
        ({"code": "c2"}, ["code: c1 -> c2"], "network or activation has changed"),
        ({"code": ""}, [], ""),  # Python finds no source in some shells
        ({"versions": {"keras": "3.1"}}, [], "3.0.*3.1.*last bits"),
        ({"replicas": 2}, [], "replicas.*were 1.*now 2.*last bits"),
        ({"accumulate": 4}, [], "accumulate.*were 1.*now 4"),
        ({"images": None, "parent": None, "versions": None, "replicas": None}, [], ""),
    ],
)
def test_other_values_are_recorded_or_logged(tmp_path, caplog, now, recorded, logged):
    with caplog.at_level(logging.WARNING, "absl"):
        now = RunIdentity(**{**vars(BEGAN), **now})
        assert compare(BEGAN, now, tmp_path, allow_config_change=True) == recorded
    assert re.search(logged, caplog.text) if logged else not caplog.text


NAMED = {"name": "imagenet2012", "folder": ""}


@pytest.mark.parametrize(
    ("data", "own"), [(NAMED | {"folder": "a"}, True), (NAMED, False), ({"name": "./a"}, True)]
)
def test_changed_images_of_a_finished_run_are_refused(tmp_path, data, own):
    entry = {"images": "a-1", "config": {"data": data}}
    words = "with a-1, but the images are now a-2. Restore"
    refused = pytest.raises(errors.DataError, match=words)
    with refused if own else contextlib.nullcontext():
        now = RunIdentity({"data": data}, "")
        check_finished(entry, tmp_path, lambda: mock.Mock(fingerprint="a-2"), (), now)
