"""Whitening and mean image of training images: computation and files."""

import os

import numpy as np
import pytest
from image_files import classes, fill, noise

from elu_zoo import errors, files
from elu_zoo.data import dataset, decoding, imagenet, statistics
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
    return dataset.ImageData("tiny_coarse", *splits, ("0",), "", "", fingerprint="tiny")


@pytest.mark.parametrize("batch", [5_000, 7])
def test_fitted_statistics_whiten_the_images(monkeypatch, batch):
    monkeypatch.setattr(statistics, "_BATCH", batch)
    train, validation = pictures(60), pictures(21, 1)
    whitening = statistics.fit(train, validation)
    x = normalized(np.concatenate([train, validation]))
    assert whitening.mean.dtype == whitening.matrix.dtype == np.float64
    np.testing.assert_allclose(whitening.mean, x.mean(0), atol=1e-12)
    p, covariance = whitening.matrix, np.cov(x, rowvar=False, bias=True)
    biased = covariance + 0.1 * np.eye(VALUES)
    # P is the only positive symmetric matrix with P (C + 0.1 I) P = I.
    np.testing.assert_allclose(p, p.T, atol=1e-12)
    assert np.linalg.eigvalsh(p).min() > 0
    np.testing.assert_allclose(p @ biased @ p, np.eye(VALUES), atol=1e-9)
    whitened = (x - whitening.mean) @ p
    np.testing.assert_allclose(whitened.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(
        np.cov(whitened, rowvar=False, bias=True), covariance @ np.linalg.inv(biased), atol=1e-9
    )


def test_an_image_of_one_grey_value_becomes_zeros():
    images = pictures(50)
    images[[3, 30]] = np.array([0, 255], "uint8")[:, None, None, None]
    whitening, x = statistics.fit(images), normalized(images)
    assert not x[3].any() and not x[30].any()
    np.testing.assert_allclose(whitening.mean, x.mean(0), atol=1e-12)
    biased = np.cov(x, rowvar=False, bias=True) + 0.1 * np.eye(VALUES)
    product = whitening.matrix @ biased @ whitening.matrix
    np.testing.assert_allclose(product, np.eye(VALUES), atol=1e-9)
    grey = statistics.fit(images[[3, 30]])
    np.testing.assert_array_equal(grey.mean, 0)
    np.testing.assert_allclose(grey.matrix, np.eye(VALUES) / np.sqrt(0.1), atol=1e-12)


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


def test_images_that_are_not_uint8_are_refused():
    images = pictures(5)
    with pytest.raises(errors.DataError, match="fitted on raw uint8 images"):
        statistics.fit(images, images.astype("float32"))


def test_whitening_is_fitted_once(data, home, monkeypatch, caplog):
    caplog.set_level("INFO", logger="absl")
    name = statistics.find_or_fit("gcn_zca", data)
    (path,) = (home / "statistics").iterdir()
    assert path.name == f"{name}.npz" and name.startswith("tiny_zca-")
    assert "Fitting the whitening statistics of tiny." in caplog.text
    monkeypatch.setattr(statistics, "fit", lambda *_: pytest.fail("fitted again"))
    assert statistics.find_whitening(data) == name
    whitening = stored.read(name)
    x = normalized(np.concatenate([data.train.images, data.validation.images]))
    np.testing.assert_allclose(whitening.mean, x.mean(0), atol=0.01)
    biased = np.cov(x, rowvar=False, bias=True) + 0.1 * np.eye(VALUES)
    product = whitening.matrix @ biased @ whitening.matrix
    np.testing.assert_allclose(product, np.eye(VALUES), atol=0.05)


def test_shipped_statistics_are_found(data, monkeypatch):
    monkeypatch.setattr(statistics, "fit", lambda *_: pytest.fail("fitted"))
    for images in ("cifar10", "cifar100"):
        cifar = dataset.ImageData(
            "cifar_coarse", data.train, data.validation, data.test, ("0",), "", "", images
        )
        assert statistics.find_whitening(cifar) == stored.find(images).stem


def test_whitening_that_cannot_be_written_is_an_error(data, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", os.devnull)
    message = r"cannot be written to /dev/null/statistics: .* Set \$ELU_ZOO_HOME to"
    with pytest.raises(errors.ResourceError, match=message):
        statistics.find_whitening(data)


@pytest.fixture
def encoded(tmp_path):
    """A folder of forty images, four of which are held out."""
    return fill(tmp_path / "pictures", classes({"a": 15, "b": 25}))


def test_the_mean_is_computed_once(encoded, home, monkeypatch, caplog):
    caplog.set_level("INFO", logger="absl")
    data = imagenet.load(encoded, 16)
    name = statistics.find_or_fit("mean_crop", data)
    (path,) = (home / "statistics").iterdir()
    assert path.name == f"{name}.npz" and name.startswith(f"{data.fingerprint}_mean-")
    assert "Decoding all 40 images of pictures once." in caplog.text
    train = [noise(16, 16, seed) for seed in range(40) if seed not in (36, 13, 14, 31)]
    expected = np.mean(train, 0, np.float64)
    np.testing.assert_allclose(stored.read_mean(name), expected, rtol=1e-7)
    monkeypatch.setattr(decoding, "decode_all", lambda *_: pytest.fail("decoded again"))
    assert statistics.find_encoded_mean(imagenet.load(encoded, 16)) == name


def test_other_images_have_another_mean(encoded):
    name = statistics.find_encoded_mean(imagenet.load(encoded, 16))
    assert statistics.find_encoded_mean(imagenet.load(encoded, 8)) != name
    fill(encoded, {"a/99.png": (encoded / "a/00.png").read_bytes()})
    assert statistics.find_encoded_mean(imagenet.load(encoded, 16)) != name


def test_the_error_states_all_bad_images(encoded, home):
    """Held-out images, such as b/21, are counted too."""
    data = imagenet.load(encoded, 16)
    fill(encoded, {"a/03.png": b"", "b/02.png": b"text", "b/21.png": b""})
    message = (
        rf"^3 of 40 images cannot be used: {encoded}/a/03\.png: the file is empty; "
        rf"{encoded}/b/02\.png: its format is unknown; expected PNG or JPEG; "
        rf"{encoded}/b/21\.png: the file is empty\. Fix or delete them\.$"
    )
    with pytest.raises(errors.DataError, match=message):
        statistics.find_encoded_mean(data)
    assert not home.exists()


@pytest.mark.parametrize("batch", [5_000, 7])
@pytest.mark.parametrize(("kind", "normal"), [("mean", False), ("gcn_mean", True)])
def test_means_in_memory_are_fitted_once(data, home, monkeypatch, kind, normal, batch):
    monkeypatch.setattr(statistics, "_BATCH", batch)
    name = statistics.find_or_fit(kind, data)
    (path,) = (home / "statistics").iterdir()
    assert path.name == f"{name}.npz"
    assert name.startswith("tiny_gcn_mean-" if normal else "tiny_mean-")
    images = np.concatenate([data.train.images, data.validation.images])
    values = normalized(images) if normal else images.reshape(len(images), -1)
    expected = values.mean(0, np.float64).reshape(data.image_shape)
    np.testing.assert_allclose(stored.read_mean(name), expected, 1e-5, 1e-5)
    monkeypatch.setattr(statistics, "_parts", lambda *_: pytest.fail("again"))
    assert statistics.find_or_fit(kind, data) == name


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


def test_the_statistics_folder_is_checked_before_decoding(encoded, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", os.devnull)
    monkeypatch.setattr(decoding, "decode_all", lambda *_: pytest.fail("decoded"))
    message = r"cannot be written to /dev/null/statistics: .* Set \$ELU_ZOO_HOME to"
    with pytest.raises(errors.ResourceError, match=message):
        statistics.find_encoded_mean(imagenet.load(encoded, 16))
