"""Statistics files are written, found by name and read; bad files are refused."""

import hashlib
import io

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.layers import statistics_file


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def write_content(folder, content, kind="zca"):
    """Writes `content` to a file whose name contains the hash of the content."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"forged_{kind}-{digest}.npz"
    path.write_bytes(content)
    return path


def test_read_returns_what_was_written(home, small):
    path = statistics_file.write(home / "statistics", "small", small)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == home / "statistics" / f"small_zca-{digest[:16]}.npz"
    stored = statistics_file.read(path.stem)
    np.testing.assert_array_equal(stored.mean, small.mean)
    np.testing.assert_array_equal(stored.matrix, small.matrix)
    assert stored.mean.dtype == stored.matrix.dtype == np.float32
    with np.load(path) as arrays:
        assert {k: (v.dtype, v.shape) for k, v in arrays.items()} == {
            "mean": (np.float16, (18,)),
            "upper_triangle": (np.float16, (18 * 19 // 2,)),
        }
    assert statistics_file.write(home / "statistics", "small", small) == path


def test_a_mean_image_is_stored_in_float32(home, mean):
    folder = home / "statistics"
    path = statistics_file.write_mean(folder, "some-images", mean.astype(np.float64))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert path == folder / f"some-images_mean-{digest[:16]}.npz"
    stored = statistics_file.read_mean(path.stem)
    assert stored.dtype == np.float32
    np.testing.assert_array_equal(stored, mean)
    second = statistics_file.write_mean(folder, "some-images", mean + 1)
    assert sorted(folder.iterdir()) == sorted([path, second])
    assert statistics_file.find("some-images", "mean") == min(path, second)


def test_find_accepts_the_name_of_a_file_or_of_images(home, small, whitening):
    path = home / "statistics" / f"{whitening}.npz"
    assert statistics_file.find(whitening) == statistics_file.find("small") == path
    assert statistics_file.find("cifar10") != statistics_file.find("cifar100")


def test_files_of_the_package_are_found_first(home, small):
    shipped = statistics_file.find("cifar10")
    assert shipped.parent.name == "files"
    folder = home / "statistics"
    user_file = statistics_file.write(folder, "cifar10", small)
    (folder / shipped.name).write_bytes(b"another")
    assert statistics_file.find("cifar10") == statistics_file.find(shipped.stem) == shipped
    assert statistics_file.find(user_file.stem) == user_file


def test_resized_images_are_found_by_the_name_before_the_fingerprint(home, mean):
    folder = home / "statistics"

    def write(images):
        return statistics_file.write_mean(folder, images, mean)

    resized = write("photos-0a1b2c3d-256")
    for images in ("photos-256", "photos-0a1b2c-256", "photos2-0a1b2c3d-256"):
        write(images)
    assert statistics_file.find("photos", "mean") == resized
    assert statistics_file.find("photos-0a1b2c3d-256", "mean") == resized
    with pytest.raises(errors.NotFoundError, match="no whitening statistics 'photos'"):
        statistics_file.find("photos")
    smaller = write("photos-00000000-64")
    with pytest.raises(errors.UsageError, match=f"several.*{smaller.stem}, {resized.stem}"):
        statistics_file.find("photos", "mean")
    user_file = write("photos")
    assert statistics_file.find("photos", "mean") == user_file


def test_whitening_and_mean_images_are_found_by_kind(home, small, mean, whitening, mean_name):
    names = {kind: statistics_file.find("small", kind).stem for kind in ("zca", "mean")}
    assert names == {"zca": whitening, "mean": mean_name}
    np.testing.assert_array_equal(statistics_file.read("small").mean, small.mean)
    np.testing.assert_array_equal(statistics_file.read_mean("small"), mean)
    for read, name in [
        (statistics_file.read, mean_name),
        (statistics_file.read_mean, whitening),
    ]:
        with pytest.raises(errors.NotFoundError):
            read(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cifr10", "Did you mean 'cifar10'.*Known: cifar10.*, small"),
        (None, "Known"),
        ("*", "Known"),
        ("../weights/cifar10", "Did you mean 'cifar10'"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(whitening, name, words):
    with pytest.raises(errors.NotFoundError, match=words):
        statistics_file.find(name)


def _flip_bit(content):
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


@pytest.mark.parametrize("damage", [_flip_bit, lambda content: content[:-1]])
@pytest.mark.parametrize(
    ("read", "fixture"),
    [(statistics_file.read, "whitening"), (statistics_file.read_mean, "mean_name")],
)
def test_a_damaged_file_is_refused(home, read, fixture, damage, request):
    name = request.getfixturevalue(fixture)
    path = home / "statistics" / f"{name}.npz"
    content = damage(path.read_bytes())
    path.write_bytes(content)
    with pytest.raises(errors.CorruptError, match=f"{path} is damaged"):
        read(name)


def test_a_file_that_fills_the_memory_is_refused(home):
    content = npz(mean=np.zeros(2**28 // 4 + 100, np.float32))
    path = write_content(home / "statistics", content, "mean")
    with pytest.raises(errors.CorruptError, match="large"):
        statistics_file.read_mean(path.stem)


def test_a_file_name_without_a_hash_is_refused(home, mean_name):
    path = home / "statistics" / "other_mean-mine.npz"
    path.write_bytes(statistics_file.find(mean_name, "mean").read_bytes())
    with pytest.raises(errors.CorruptError, match=f"{path} is damaged"):
        statistics_file.read_mean("other")


MEAN, TRIANGLE = np.zeros(3, "float16"), np.ones(6, "float16")
IMAGE = np.zeros((2, 3, 3), "float32")


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("zca", b"", "No data left"),
        ("zca", b"text", "pickled"),
        ("zca", npz(mean=MEAN), "upper_triangle is not"),
        ("zca", npz(mean=MEAN, upper_triangle=TRIANGLE[:5]), "shapes"),
        ("zca", npz(mean=MEAN[None], upper_triangle=TRIANGLE[:1]), "shapes"),
        ("zca", npz(mean=MEAN, upper_triangle=TRIANGLE * np.float16("nan")), "not finite"),
        ("zca", npz(mean=np.array(["a"]), upper_triangle=TRIANGLE), "convert"),
        ("zca", npz(mean=np.array([None]), upper_triangle=TRIANGLE), "Object"),
        ("mean", npz(mean=IMAGE)[:-30], "zip"),
        ("mean", npz(mean=IMAGE[0]), "shape"),
    ],
)
def test_forged_statistics_are_refused(home, kind, content, words):
    path = write_content(home / "statistics", content, kind)
    read = {"zca": statistics_file.read, "mean": statistics_file.read_mean}[kind]
    with pytest.raises(errors.CorruptError, match=f"{path} cannot be read.*{words}"):
        read(path.stem)
