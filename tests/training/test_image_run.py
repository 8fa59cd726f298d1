"""Runs of the ImageNet network on folders of small image files."""

import signal

import numpy as np
import pytest
import small_images

from elu_zoo import errors, training, zoo
from elu_zoo.data import encoded, imagenet, order
from elu_zoo.layers import statistics_file
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


def decode(split):
    """Returns the decoded images and the labels of an encoded split."""
    parts = list(split.parts(7))
    return (np.concatenate([getattr(p, k) for p in parts]) for k in ("images", "labels"))


@pytest.mark.slow
def test_the_entry_of_a_finished_run_describes_the_images(finished, folder):
    workdir, entry = finished
    assert manifest.check(entry, "entry") == entry
    assert entry["tag"].startswith("elu_imagenet_15.three_elu-")
    assert entry["arguments"]["input_shape"] == [16, 16, 3]
    statistics = statistics_file.find(imagenet.load(folder, 24).fingerprint, "mean").stem
    described = {"kind": "mean_crop", "statistics": statistics, "crop": [16, 16]}
    assert entry["preprocessing"] == described
    assert entry["classes"] == ["class000", "class001", "class002"]
    assert entry["data_terms"] == "The terms of its images."
    repeated = training.train(small_images.get_config(folder), workdir)
    assert repeated["tag"] == entry["tag"]


@pytest.mark.slow
def test_the_crop_of_weights_is_kept(finished, folder, tmp_path):
    config = small_images.get_config(folder)
    config.model.weights, config.data.crop_size = str(finished[0]), 12
    with pytest.raises(errors.UsageError, match="crop_size=16"):
        training.train(config, tmp_path)


@pytest.mark.slow
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


def test_arguments_are_refused_before_images_are_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(encoded, "decode_all", lambda *_: pytest.fail("read"))
    config = small_images.get_config(folder, {"model.spp_levels": (1, 9)})
    with pytest.raises(errors.UsageError, match="spp_levels"):
        training.train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# With a learning rate of 0 the run evaluates the initial network.
INITIAL = {
    "model.dropout": 0.0,
    "data.train_examples": 100,
    "data.validation_images": 60,
    "train.batch_size": 20,
    "train.epochs": 1,
    "train.boundaries": (),
    "train.learning_rates": (0.0,),
    "train.precision": "float32",
}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A folder of images of 101 classes: per class, one training and one test image."""
    root = tmp_path_factory.mktemp("small") / "many"
    small_images.write_splits(root, 101, 1, 1)
    return root


def crop(images, draws):
    """Returns crops of 16 x 16 pixels; a row of `draws` is (row, column, mirrored)."""
    return np.stack(
        [
            image[y : y + 16, x : x + 16][:, :: -1 if flip else 1]
            for image, (y, x, flip) in zip(images, draws, strict=True)
        ]
    )


def measure(net, images, labels):
    """Returns the loss, the error in percent and the top-5 error in percent."""
    z = net.predict(images.astype(np.float32), verbose=0).astype(np.float64)
    of_labels = z[np.arange(len(labels)), labels]
    wrong, missed = of_labels < z.max(1), of_labels < np.sort(z, 1)[:, -5]
    loss = (np.log(np.exp(z).sum(1)) - of_labels).mean()
    return [loss, *(100 * x.sum() / len(labels) for x in (wrong, missed))]


CENTRE = np.array([[4, 4, 0]])


@pytest.mark.parametrize(
    ("augmentation", "arguments"),
    [("none", {}), ("crop_flip", {"strategy": "mirrored", "num_devices": 2})],
)
@pytest.mark.slow
def test_training_uses_drawn_crops_and_evaluations_use_centre_crops(
    many, tmp_path, rows, augmentation, arguments
):
    """With more than 100 classes a run also measures the top-5 error."""
    config = small_images.get_config(many, {**INITIAL, "data.augmentation": augmentation})
    entry = training.train(config, tmp_path, **arguments)
    data = imagenet.load(many, 24, 60)
    (train, train_labels), (test, test_labels) = decode(data.train), decode(data.test)
    mean = statistics_file.read_mean(entry["preprocessing"]["statistics"])
    np.testing.assert_allclose(mean, train.mean(0), 1e-6)
    draws = order.crops_and_flips(0, 0, 100, 24 - 16 + 1)
    assert (draws.min(), draws.max()) == (0, 8)
    draws = np.repeat(CENTRE, 100, 0) if augmentation == "none" else draws
    net = zoo.get_model(
        NAME, num_classes=101, input_shape=(16, 16, 3), width=0.02, stem_stride=1,
        spp_levels=(1,), preprocessing=False
    )  # fmt: skip
    loss, *_ = measure(net, crop((train - mean)[:100], draws), train_labels[:100])
    (row,) = rows(tmp_path / "metrics.jsonl")
    keys = ["loss", "error_percent", "top5_error_percent"]
    assert row["train_loss"] == pytest.approx(loss, rel=1e-5)
    # The weight file has the weights of the run, rounded to float16.
    net = zoo.get_model(NAME, weights=tmp_path, preprocessing=False)
    crops = crop(test - mean, np.repeat(CENTRE, 101, 0))
    for name, count in (("test", 101), ("validation", 60)):
        recorded = [entry["metrics"][f"{name}_{key}"] for key in keys]
        expected = measure(net, crops[:count], test_labels[:count])
        assert recorded == pytest.approx(expected, rel=1e-5)
