"""The ImageNet network overfits fifty real images."""

import pytest
import small_images

from elu_zoo import training
from elu_zoo.configs import elu_imagenet_15

COUNT, SIDE, CROP = 50, 128, 112
ENTRIES = {
    "model.width": 0.1,
    "model.dropout": 0.0,
    "data.image_size": SIDE,
    "data.crop_size": CROP,
    "data.train_examples": 0,
    "train.batch_size": 25,
    "train.epochs": 40,
    "train.boundaries": (56,),
    "train.learning_rates": (0.001, 0.0001),
    "train.evaluate_every": 20,
}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.data("imagenet_sample")
def test_loss_and_error_on_fifty_real_images_become_small(tmp_path, rows):
    """Each class has one image. The test images are the training images."""
    folders = sorted(x for x in small_images.sample().iterdir() if x.is_dir())
    for split in ("train", "val"):
        (tmp_path / "raw" / split).mkdir(parents=True)
        for folder in folders[:: len(folders) // COUNT]:
            (tmp_path / "raw" / split / folder.name).symlink_to(folder)
    config = elu_imagenet_15.get_config("smoke=True")
    config.update_from_flattened_dict({**ENTRIES, "data.folder": str(tmp_path / "raw")})
    entry = training.train(config, tmp_path / "run")
    assert len(entry["classes"]) == COUNT
    first, *_, last = rows(tmp_path / "run" / "metrics.jsonl")
    assert first["train_loss"] > 3 and last["train_loss"] < first["train_loss"] / 4
    assert entry["metrics"]["test_error_percent"] < 10
