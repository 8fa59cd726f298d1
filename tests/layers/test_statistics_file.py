"""Statistics files: written, found by name, damaged, forged."""

import hashlib
import io
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import statistics_file


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def put(folder, content, kind="zca"):
    """Writes any content to a file with the right name."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"forged_{kind}-{digest}.npz"
    path.write_bytes(content)
    return path


def test_what_is_written_is_read(home, small):
    path = statistics_file.write(home / "statistics", "small", small)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == home / "statistics" / f"small_zca-{digest[:16]}.npz"
    found = statistics_file.read(path.stem)
    np.testing.assert_array_equal(found.mean, small.mean)
    np.testing.assert_array_equal(found.matrix, small.matrix)
    assert found.mean.dtype == found.matrix.dtype == np.float32
    with np.load(path) as arrays:
        assert {k: (v.dtype, v.shape) for k, v in arrays.items()} == {
            "mean": (np.float16, (18,)),
            "upper_triangle": (np.float16, (18 * 19 // 2,)),
        }
    assert statistics_file.write(home / "statistics", "small", small) == path
    assert len(list((home / "statistics").iterdir())) == 1


def test_is_rounded_to_float16(home):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(30, 30))
    fitted = statistics_file.Statistics(rng.normal(size=30), matrix + matrix.T)
    path = statistics_file.write(home / "statistics", "random", fitted)
    found = statistics_file.read(path.stem)
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    np.testing.assert_array_equal(found.matrix, fitted.matrix.astype("float16"))
    np.testing.assert_allclose(found.mean, fitted.mean, rtol=2**-11, atol=1e-7)


def test_a_mean_image_is_kept_exactly(home, mean):
    folder = home / "statistics"
    path = statistics_file.write_mean(folder, "some-images", mean.astype(np.float64))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == folder / f"some-images_mean-{digest[:16]}.npz"
    found = statistics_file.read_mean(path.stem)
    assert (found.dtype, found.shape) == (np.float32, (2, 3, 3))
    np.testing.assert_array_equal(found, mean)
    assert (found != found.astype(np.float16)).any()
    with np.load(path) as arrays:
        assert {k: v.dtype for k, v in arrays.items()} == {"mean": np.float32}
    assert statistics_file.write_mean(folder, "some-images", mean) == path
    other = statistics_file.write_mean(folder, "some-images", mean + 1)
    assert sorted(folder.iterdir()) == sorted([path, other])
    assert statistics_file.find("some-images", "mean") == min(path, other)


def test_find(home, small, whitening):
    path = home / "statistics" / f"{whitening}.npz"
    assert statistics_file.find(whitening) == statistics_file.find("small") == path
    assert statistics_file.find("cifar10") != statistics_file.find("cifar100")


def test_what_ships_is_found_first(home, small):
    shipped = statistics_file.find("cifar10")
    assert shipped.parent.name == "weights"
    folder = home / "statistics"
    own = statistics_file.write(folder, "cifar10", small)
    (folder / shipped.name).write_bytes(b"another")
    assert (
        statistics_file.find("cifar10") == statistics_file.find(shipped.stem) == shipped
    )
    assert statistics_file.find(own.stem) == own


def test_find_resized_images(home, mean):
    """Resized sets are found by the first part of the name."""
    folder = home / "statistics"

    def written(images):
        return statistics_file.write_mean(folder, images, mean)

    resized = written("photos-0a1b2c3d-256")
    for other in ("photos-256", "photos-0a1b2c-256", "photos2-0a1b2c3d-256"):
        written(other)
    assert statistics_file.find("photos", "mean") == resized
    assert statistics_file.find("photos-0a1b2c3d-256", "mean") == resized
    with pytest.raises(errors.NotFoundError, match="no whitening statistics 'photos'"):
        statistics_file.find("photos")
    other = written("photos-00000000-64")
    with pytest.raises(errors.UsageError) as caught:
        statistics_file.find("photos", "mean")
    text = f"There are several sets photos. Name one of {other.stem}, {resized.stem}."
    assert str(caught.value) == text
    own = written("photos")
    assert statistics_file.find("photos", "mean") == own


def test_kinds_do_not_mix(home, small, mean, whitening, mean_name):
    found = {kind: statistics_file.find("small", kind).stem for kind in ("zca", "mean")}
    assert found == {"zca": whitening, "mean": mean_name}
    np.testing.assert_array_equal(statistics_file.read("small").mean, small.mean)
    np.testing.assert_array_equal(statistics_file.read_mean("small"), mean)
    for read, name, known in [
        (statistics_file.read, mean_name, [*_shipped(), whitening]),
        (statistics_file.read_mean, whitening, [*_shipped("mean"), mean_name]),
        (statistics_file.read_mean, "mnist", [*_shipped("mean"), mean_name]),
    ]:
        with pytest.raises(errors.NotFoundError) as caught:
            read(name)
        assert f"Known: {', '.join(sorted(known))}. Training" in str(caught.value)
    of_another = home / "statistics" / f"{whitening.replace('zca', 'mean')}.npz"
    of_another.write_bytes(statistics_file.find(whitening).read_bytes())
    with pytest.raises(errors.CorruptError, match="its array is"):
        statistics_file.read_mean(of_another.stem)


def test_no_mean_image_at_all(home, monkeypatch):
    monkeypatch.setattr(statistics_file, "_folders", lambda: (home, home))
    with pytest.raises(errors.NotFoundError, match="image 'small'. Known: none. Train"):
        statistics_file.find("small", "mean")


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
@pytest.mark.parametrize("normalized", [False, True])
def test_the_means_that_ship(name, normalized):
    images = f"{name}_gcn" if normalized else name
    mean = statistics_file.read_mean(images)
    assert mean.shape == (32, 32, 3)
    # Normalised images have mean 0, raw images some grey.
    assert abs(mean.mean()) < 1e-6 if normalized else 115 < mean.mean() < 125


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("cifr10", "Did you mean 'cifar10'"),
        ("cifar10_zca-" + "0" * 16, "Did you mean 'cifar10"),
        (None, ""),
        ("*", ""),
        ("cifar1?", "Did you mean 'cifar10'"),
        ("../weights/cifar10", "Did you mean 'cifar10'"),
    ],
)
def test_unknown_name(whitening, name, suggestion):
    with pytest.raises(errors.NotFoundError) as caught:
        statistics_file.find(name)
    text = str(caught.value)
    assert f"There are no whitening statistics {name!r}. " in text
    assert suggestion in text and bool(suggestion) == ("Did you mean" in text)
    assert f"Known: {', '.join(sorted([*_shipped(), whitening]))}. Training" in text


def _shipped(kind="zca"):
    folder = Path(str(resources.files("elu_zoo"))) / "weights"
    return [path.stem for path in folder.glob(f"*_{kind}-*.npz")]


def _flip(content):
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


@pytest.mark.parametrize("damage", [_flip, lambda content: content[:-1]])
@pytest.mark.parametrize(
    ("read", "fixture"),
    [(statistics_file.read, "whitening"), (statistics_file.read_mean, "mean_name")],
)
def test_damage(home, read, fixture, damage, request):
    name = request.getfixturevalue(fixture)
    path = home / "statistics" / f"{name}.npz"
    content = damage(path.read_bytes())
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()[:16]
    message = rf"{path} is damaged: its SHA-256 is {digest}\.\.\. Delete it and get it"
    with pytest.raises(errors.CorruptError, match=message):
        read(name)


def test_a_name_without_a_hash(home, mean_name):
    path = home / "statistics" / "other_mean-mine.npz"
    path.write_bytes(statistics_file.find(mean_name, "mean").read_bytes())
    with pytest.raises(errors.CorruptError, match=f"{path} is damaged"):
        statistics_file.read_mean("other")


MEAN, TRIANGLE = np.zeros(3, "float16"), np.ones(6, "float16")
IMAGE = np.zeros((2, 3, 3), "float32")
UNREADABLE = [
    (b"", "No data left"),
    (b"text", "pickled"),
    (npy(MEAN), "context manager"),
    (npz(images=IMAGE), "is not a file"),
    (npz(mean=IMAGE)[:-30], "not a zip file"),
]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *UNREADABLE,
        (npz(mean=MEAN), "upper_triangle is not a file"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE[:5]), r"are \(3,\) and \(5,\)"),
        (npz(mean=MEAN[None], upper_triangle=TRIANGLE[:1]), r"are \(1, 3\)"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE * np.float16("nan")), "not finite"),
        (npz(mean=MEAN[0], upper_triangle=TRIANGLE), r"are \(\) and \(6,\)"),
        (npz(mean=np.array(["a"]), upper_triangle=TRIANGLE), "could not convert"),
        (npz(mean=np.array([None]), upper_triangle=TRIANGLE), "Object arrays"),
    ],
)
def test_forged(home, content, message):
    path = put(home / "statistics", content)
    with pytest.raises(errors.CorruptError, match=f"{path} cannot be read.*{message}"):
        statistics_file.read(path.stem)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *UNREADABLE,
        (npz(mean=IMAGE[0]), r"its array is \(3, 3\)"),
        (npz(mean=IMAGE * np.float32("nan")), "not finite"),
    ],
)
def test_forged_mean_image(home, content, message):
    path = put(home / "statistics", content, "mean")
    with pytest.raises(errors.CorruptError, match=f"{path} cannot be read.*{message}"):
        statistics_file.read_mean(path.stem)
