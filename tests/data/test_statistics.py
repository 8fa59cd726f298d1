"""Whitening and mean image of training images: computation and files."""

import dataclasses
import os

import numpy as np
import pytest
from image_files import classes, fill, noise

from elu_zoo import errors, files
from elu_zoo.data import dataset, encoded, imagenet, statistics
from elu_zoo.layers import preprocess
from elu_zoo.layers import statistics_file as stored

SHAPE, VALUES = (3, 2, 3), 18


def pictures(count, seed=0):
    """Returns images with correlated values, uint8."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(9).normal(size=(VALUES, VALUES))
    x = 128 + 12 * rng.normal(size=(count, VALUES)) @ mixing
    return np.clip(x, 0, 255).astype("uint8").reshape(count, *SHAPE)


def normalized(images):
    """Returns images after global contrast normalisation, one row per image."""
    rows = []
    for image in images.astype(np.float64):
        x = image.ravel() - image.mean()
        rows.append(x * 55 / np.linalg.norm(x) if np.any(x) else x)
    return np.stack(rows)


@pytest.fixture
def data():
    """A data set without a file of statistics."""
    train, validation, test = pictures(60), pictures(20, 1), pictures(30, 2)
    splits = [dataset.Split(i, np.zeros(len(i), "int32")) for i in (train, validation, test)]
    return dataset.ImageData("tiny", *splits, ("0",), "", "", fingerprint="tiny")


@pytest.mark.parametrize("batch", [5_000, 7])
def test_fitted_statistics_whiten_the_images(monkeypatch, batch):
    monkeypatch.setattr(statistics, "_BATCH", batch)
    train, validation = pictures(60), pictures(21, 1)
    train[[3, 30]] = np.array([0, 255], "uint8")[:, None, None, None]  # become zeros
    whitening = statistics.fit(train, validation)
    x = normalized(np.concatenate([train, validation]))
    np.testing.assert_allclose(whitening.mean, x.mean(0), atol=1e-12)
    p, covariance = whitening.matrix, np.cov(x, rowvar=False, bias=True)
    # P is the only positive symmetric matrix with P (C + 0.1 I) P = I.
    np.testing.assert_allclose(p, p.T, atol=1e-12)
    assert np.linalg.eigvalsh(p).min() > 0
    identity = np.eye(VALUES)
    np.testing.assert_allclose(p @ (covariance + 0.1 * identity) @ p, identity, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "deviation"), [("gcn_zca", 0.53), ("gcn_mean", 1.0), ("mean", None)]
)
def test_a_fitted_scale_gives_channels_the_mean_0_and_one_factor(kind, deviation):
    images = np.random.default_rng(0).integers(0, 256, (300, 5, 4, 3), np.uint8)
    images //= np.array([1, 2, 5], np.uint8)  # more images than are counted at once
    fitted = statistics.fit_scale(kind, images)
    x = images - images.astype(np.float64).mean((0, 1, 2))
    x *= deviation / x.std() if deviation else 1
    np.testing.assert_allclose(preprocess(images, fitted), x, atol=1e-4)
    assert fitted == statistics.fit_scale(kind, images[::-1])  # exact sums

    black = statistics.fit_scale(kind, np.zeros((2, 5, 4, 3), np.uint8))
    assert black["scale"] <= 1 and not np.any(black["offset"])


@pytest.mark.parametrize(
    ("kind", "name"),
    [("gcn_zca", "tiny_zca"), ("mean", "tiny_mean"), ("gcn_mean", "tiny_gcn_mean")],
)
def test_statistics_are_computed_once(data, home, monkeypatch, kind, name):
    monkeypatch.setattr(statistics, "_BATCH", 7)
    found = statistics.find_or_fit(kind, data)
    (path,) = (home / "statistics").iterdir()
    assert path.name == f"{found}.npz" and found.startswith(f"{name}-")
    images = np.concatenate([data.train.images, data.validation.images])
    x = images.reshape(len(images), -1) if kind == "mean" else normalized(images)
    if kind == "gcn_zca":
        mean, atol = stored.read(found).mean, 0.01  # stored in float16
    else:
        mean, atol = stored.read_mean(found).ravel(), 1e-5
    np.testing.assert_allclose(mean, x.mean(0), 1e-5, atol)
    monkeypatch.setattr(statistics, "_parts", None)
    assert statistics.find_or_fit(kind, data) == found


def test_shipped_statistics_are_found(data):
    cifar = dataclasses.replace(data, fingerprint="cifar100")
    assert statistics.find_or_fit("gcn_zca", cifar) == stored.find("cifar100").stem


@pytest.fixture
def photos(tmp_path):
    """A folder of forty images, four of which are held out."""
    return fill(tmp_path / "pictures", classes({"a": 15, "b": 25}))


def test_the_mean_of_encoded_images_is_computed_once(photos, home, monkeypatch):
    data = imagenet.load(photos, 16)
    name = statistics.find_or_fit("mean_crop", data)
    assert name.startswith(f"{data.fingerprint}_mean-")
    train = [noise(16, 16, seed) for seed in range(40) if seed not in (36, 13, 14, 31)]
    expected = np.mean(train, 0, np.float64)
    np.testing.assert_allclose(stored.read_mean(name), expected, rtol=1e-7)
    assert statistics.find_or_fit("mean_crop", imagenet.load(photos, 8)) != name
    monkeypatch.setattr(encoded, "decode_all", None)
    assert statistics.find_or_fit("mean_crop", imagenet.load(photos, 16)) == name


def test_held_out_images_are_checked_too(photos, home):
    data = imagenet.load(photos, 16)
    fill(photos, {"a/03.png": b"", "b/21.png": b""})  # b/21 is held out.
    with pytest.raises(errors.DataError, match=r"^2 of 40 .*/a/03\.png: .*/b/21\.png: "):
        statistics.find_or_fit("mean_crop", data)
    assert not home.exists()


@pytest.mark.parametrize(
    ("kind", "name"), [("gcn_zca", "zca"), ("mean", "mean"), ("gcn_mean", "gcn_mean")]
)
def test_the_copy_in_the_folder_of_a_run_is_preferred(data, tmp_path, home, kind, name):
    """Another machine, or a later version, may compute other statistics."""
    run, cache = tmp_path / "run", home / "statistics"
    for folder, content in ((run, b"a"), (cache, b"b")):
        path = folder / f"tiny_{name}-{files.sha256(content)[:16]}.npz"
        files.write_bytes(path, content)
    (copied,) = run.iterdir()
    assert statistics.find_or_fit(kind, data, tmp_path / "new") == path.stem
    assert statistics.find_or_fit(kind, data, run) == copied.stem
    assert (cache / copied.name).read_bytes() == b"a"
    (cache / copied.name).unlink()
    copied.write_bytes(b"x")
    with pytest.raises(errors.CorruptError, match="is damaged: its SHA-256 starts"):
        statistics.find_or_fit(kind, data, run)


def test_the_folder_of_statistics_is_checked_first(data, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", os.devnull)
    monkeypatch.setattr(statistics, "fit", None)
    with pytest.raises(errors.ResourceError, match="/dev/null/statistics cannot be used"):
        statistics.find_or_fit("gcn_zca", data)
