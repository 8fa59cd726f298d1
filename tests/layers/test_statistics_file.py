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


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def put(folder, content, images="forged"):
    """Writes a file whose name is right, whatever it holds."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"{images}_zca-{digest}.npz"
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


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("cifr10", "Did you mean 'cifar10'"),
        ("cifar", "Did you mean 'cifar10'"),
        ("smal", "Did you mean 'small'"),
        ("cifar10_zca-f8a2f681b2e1320", "Did you mean 'cifar10_zca-"),
        ("cifar10_zca-" + "0" * 16, "Did you mean 'cifar10"),
        ("", ""),
        (None, ""),
        ("*", ""),
        ("cifar1?", "Did you mean 'cifar10'"),
        ("../weights/cifar10", "Did you mean 'cifar10'"),
        ("/etc/passwd", ""),
    ],
)
def test_unknown_name(whitening, name, suggestion):
    with pytest.raises(errors.NotFoundError) as caught:
        statistics_file.find(name)
    text = str(caught.value)
    assert f"There are no whitening statistics {name!r}. " in text
    assert suggestion in text and bool(suggestion) == ("Did you mean" in text)
    assert f"Known: {', '.join(sorted([*_shipped(), whitening]))}. Training" in text


def _shipped():
    return [statistics_file.find(name).stem for name in ("cifar10", "cifar100")]


def test_no_home(tmp_path, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(errors.NotFoundError, match="no whitening statistics 'small'"):
        statistics_file.read("small")


def _flip(content):
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


@pytest.mark.parametrize(
    "damage", [_flip, lambda content: content[:-1], lambda _: b"", lambda c: c + b"\0"]
)
def test_damage(whitening, home, damage):
    path = home / "statistics" / f"{whitening}.npz"
    content = damage(path.read_bytes())
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()[:16]
    message = rf"{path} is damaged: its SHA-256 is {digest}\.\.\. Delete it and get it"
    with pytest.raises(errors.CorruptError, match=message):
        statistics_file.read(whitening)
    with pytest.raises(errors.CorruptError, match="is damaged"):  # it is not cached
        statistics_file.read(whitening)


MEAN, TRIANGLE = np.zeros(3, "float16"), np.ones(6, "float16")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "No data left"),
        (b"text", "pickled"),
        (npy(MEAN), "context manager"),
        (npz(mean=MEAN), "upper_triangle is not a file"),
        (npz(upper_triangle=TRIANGLE), "mean is not a file"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE[:5]), r"are \(3,\) and \(5,\)"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE[:1]), r"are \(3,\) and \(1,\)"),
        (npz(mean=MEAN[None], upper_triangle=TRIANGLE[:1]), r"are \(1, 3\)"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE * np.float16("nan")), "not finite"),
        (npz(mean=MEAN[0], upper_triangle=TRIANGLE), "unsized"),
        (npz(mean=np.array(["a"]), upper_triangle=TRIANGLE), "could not convert"),
        (npz(mean=np.array([None]), upper_triangle=TRIANGLE), "Object arrays"),
        (npz(mean=MEAN, upper_triangle=TRIANGLE)[:-30], "not a zip file"),
    ],
)
def test_forged(home, content, message):
    path = put(home / "statistics", content)
    with pytest.raises(errors.CorruptError, match=f"{path} cannot be read.*{message}"):
        statistics_file.read(path.stem)
