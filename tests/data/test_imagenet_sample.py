"""The data pipeline reads 1,000 real images of ImageNet, one per class."""

import numpy as np
import pytest
import small_images

from elu_zoo.data import encoded, imagenet, statistics
from elu_zoo.layers import statistics_file

pytestmark = pytest.mark.data("imagenet_sample")


@pytest.fixture
def imagenet_sample():
    return small_images.sample()


def test_fifty_images_are_decoded_and_batched(imagenet_sample, home):
    data = imagenet.load(imagenet_sample, 256)
    assert [len(data.train), len(data.validation), len(data.test)] == [900, 100, 100]
    assert (len(data.class_names), data.class_names[0]) == (1000, "tench")
    chosen = data.train.first(50)
    decoded = list(encoded.decode_all(chosen.examples, chosen.positions, (256, 256, 3)))
    assert [x.problem for x in decoded if x.problem] == []
    assert [x.label for x in decoded] == chosen.positions.tolist()
    parts = list(chosen.parts(20))
    assert [len(part) for part in parts] == [20, 20, 10]
    read = np.concatenate([part.images for part in parts])
    np.testing.assert_array_equal(read, [x.pixels for x in decoded])
    # The mean colour of photographs is near the mean colour of ImageNet.
    assert np.abs(read.mean((0, 1, 2)) - [123, 117, 104]).max() < 25
    assert not home.exists()


@pytest.mark.slow
def test_all_images_are_usable(imagenet_sample):
    name = statistics.find_or_fit("mean_crop", imagenet.load(imagenet_sample, 256))
    mean = statistics_file.read_mean(name)
    assert mean.shape == (256, 256, 3)
    np.testing.assert_allclose(mean.mean((0, 1)), [123, 117, 104], atol=8)
