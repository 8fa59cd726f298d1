"""Runs of the ImageNet network on folders of small image files."""

import contextlib
import signal
from unittest import mock

import numpy as np
import pytest
import small_images

import elu_zoo
from elu_zoo import errors, training
from elu_zoo.data import decoding, imagenet
from elu_zoo.layers import statistics_file
from elu_zoo.training.record import resuming
from elu_zoo.training.step.stream import StreamStep
from elu_zoo.weights import manifest

NAME = "elu_imagenet_15"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of images of three classes: 21 training images and 12 test images."""
    root = tmp_path_factory.mktemp("small") / "three"
    small_images.write_splits(root)
    return root


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    """The folder and the entry of a finished run. Tests only read the folder."""
    workdir = tmp_path_factory.mktemp("runs") / "finished"
    return workdir, training.train(small_images.get_config(folder), workdir)


@pytest.fixture(scope="module")
def model(finished):
    """The model with the weights of the finished run."""
    return elu_zoo.get_model(NAME, weights=finished[0])


def decode(split):
    """Returns the decoded images and the labels of an encoded split."""
    parts = list(split.parts(7))
    return (np.concatenate([getattr(p, k) for p in parts]) for k in ("images", "labels"))


def test_the_entry_of_a_finished_run_describes_the_images(finished, folder):
    workdir, entry = finished
    assert manifest.check(entry, "entry") == entry
    assert entry["tag"].startswith("elu_imagenet_15.three_elu-")
    assert entry["arguments"]["input_shape"] == [16, 16, 3]
    statistics = statistics_file.find(imagenet.load(folder, 24).images, "mean").stem
    described = {"kind": "mean_crop", "statistics": statistics, "crop": [16, 16]}
    assert entry["preprocessing"] == described
    assert entry["classes"] == ["class000", "class001", "class002"]
    assert entry["data_terms"] == "The terms of its images."
    repeated = training.train(small_images.get_config(folder), workdir)
    assert repeated["tag"] == entry["tag"]


def test_the_weights_have_the_recorded_errors_and_losses(finished, folder, model):
    data = imagenet.load(folder, 24, 5)
    assert (len(data.test), len(data.validation)) == (12, 5)
    assert model.input_shape == (None, 24, 24, 3)
    for name in ("test", "validation"):
        images, labels = decode(getattr(data, name))
        logits = model.predict(images, verbose=0).astype(np.float64)
        metrics, rows = finished[1]["metrics"], np.arange(len(labels))
        wrong = int((logits.argmax(1) != labels).sum())
        assert metrics[f"{name}_error_percent"] == 100 * wrong / len(labels)
        losses = np.log(np.exp(logits).sum(1)) - logits[rows, labels]
        assert metrics[f"{name}_loss"] == pytest.approx(losses.mean(), rel=1e-5)


def test_a_run_on_unchanged_images_is_resumed_bit_for_bit(
    finished, folder, tmp_path, stop_after, last_arrays, assert_same_bits
):
    config, image = small_images.get_config(folder), folder / "train/class001/image3.png"
    stop_after(7, lambda: signal.raise_signal(signal.SIGTERM), StreamStep)
    with pytest.raises(errors.Interrupted, match="iteration 7 of 10"):
        training.train(config, tmp_path, steps_per_call=2)
    content = image.read_bytes()
    image.unlink()
    with pytest.raises(errors.DataError, match="images have changed"):
        training.train(config, tmp_path)
    image.write_bytes(content)
    entry = training.train(config, tmp_path, steps_per_call=2)
    assert entry["sha256"] == finished[1]["sha256"]
    assert entry["metrics"] == finished[1]["metrics"]
    assert_same_bits(last_arrays(tmp_path), last_arrays(finished[0]))
    contents = [(w / "metrics.jsonl").read_bytes() for w in (tmp_path, finished[0])]
    assert contents[0] == contents[1]


NAMED = {"name": "imagenet2012", "folder": ""}


@pytest.mark.parametrize(
    ("data", "own"), [(NAMED | {"folder": "a"}, True), (NAMED, False), ({"name": "./a"}, True)]
)
def test_changed_images_of_a_finished_run_are_refused(tmp_path, data, own):
    entry = {"images": "a-1", "config": {"data": data}}
    words = "with a-1, but the images are now a-2. Restore"
    refused = pytest.raises(errors.DataError, match=words)
    with refused if own else contextlib.nullcontext():
        now = resuming.RunIdentity({"data": data}, "")
        resuming.check_finished(entry, tmp_path, lambda: mock.Mock(images="a-2"), (), now)


def test_arguments_are_refused_before_images_are_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "decode_all", lambda *_: pytest.fail("read"))
    config = small_images.get_config(folder, {"model.spp_levels": (1, 9)})
    with pytest.raises(errors.UsageError, match="spp_levels"):
        training.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_damaged_image_is_refused_before_the_run_starts(tmp_path):
    name = "val/class002/image3.png"
    small_images.write_splits(tmp_path / "damaged")
    (tmp_path / "damaged" / name).write_bytes(b"x")
    config = small_images.get_config(tmp_path / "damaged")
    with pytest.raises(errors.DataError, match=f"{name}: it is text"):
        training.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
