"""The default configs have the settings of the paper's experiments."""

import numpy as np
import pytest
from fake_runs import get_config

from elu_zoo import registry, training


@pytest.mark.parametrize(
    ("name", "epochs", "rate"),
    [
        ("mnist_mlp_8x128", 300, 0.01),
        ("mnist_mlp_5x256", 200, 0.01),
        ("mnist_autoencoder", 500, 1e-3),
    ],
)
def test_the_default_has_the_settings_of_paper_section_4_1(name, epochs, rate):
    """Settings that the paper omits are the defaults of its authors' framework."""
    config = get_config(name)
    assert (config.schedule, config.data.name) == ("paper", "mnist")
    train = config.train.to_dict()
    assert train["batch_size"] == 64
    assert train["epochs"] == config.schedule_epochs == epochs
    assert train["learning_rates"] == (rate,) and train["boundaries"] == ()
    assert (train["momentum"], train["precision"]) == (0, "float32")
    assert config.model.width == 1 and config.data.train_examples == 0
    assert config.train.loss == registry.entry(config.model.name).loss


@pytest.mark.slow
def test_the_quickstart_reaches_the_error_of_its_card(tmp_path):
    entry = training.train(get_config("quickstart"), tmp_path)
    assert entry["metrics"]["test_error_percent"] < 9


@pytest.mark.parametrize(
    ("name", "iterations"), [("elu_cifar_11", 165_000), ("elu_cifar_18", 255_000)]
)
def test_the_default_is_the_schedule_of_paper_sections_4_2_and_4_3(name, iterations):
    config = get_config(name)
    assert (config.schedule, config.data.name) == ("paper", "cifar100")
    assert (config.model.width, config.model.kernel_decay) == (1, 0.0005)
    assert (config.model.padding, config.model.init_scale) == ("caffe", 2)
    train = config.train.to_dict()
    assert config.data.augmentation == "pad_crop_flip" and config.data.train_on_validation
    assert (train["batch_size"], train["momentum"], train["nesterov"]) == (100, 0.9, False)
    assert 500 * train["epochs"] == 500 * config.schedule_epochs == iterations
    schedule = train["boundaries"], train["learning_rates"]
    if name == "elu_cifar_11":
        rates = 0.01, 0.005, 0.0005, 0.00005
        assert schedule == ((35_000, 85_000, 135_000), rates)
        assert train["phase_boundaries"] == ()
        assert train["dropout"] == ((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0),)
        assert train["dropout_placement"] == ("last",)
        return
    assert schedule == ((35_000,), (0.01, 0.001))
    lengths = np.diff([0, *train["phase_boundaries"], iterations])
    assert lengths.tolist() == [165_000, 50_000, 40_000]
    rates = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.0)
    np.testing.assert_allclose(train["dropout"], np.outer((1, 1, 1.5), rates))
    assert train["dropout_placement"] == ("last", "all", "all")


def test_the_default_has_the_settings_of_paper_section_4_4():
    config = get_config("elu_imagenet_15")
    assert (config.schedule, config.model.activation.name) == ("paper", "elu")
    model = config.model.to_dict()
    assert (model["width"], model["kernel_decay"], model["dropout"]) == (1, 0.0005, 0.5)
    assert len(model["spp_levels"]) == 3
    data = config.data.to_dict()
    assert (data["image_size"], data["crop_size"]) == (256, 224)
    assert (data["validation_images"], data["train_examples"]) == (5000, 0)
    assert (data["name"], data["augmentation"]) == ("imagenet2012", "crop_flip")
    assert config.train.epochs == config.schedule_epochs
    # In the paper, ReLU networks need 200,000 iterations for a top-5 error of 20 %. The
    # learning rate must not fall before this iteration.
    iterations = 1_281_167 // config.train.batch_size * config.train.epochs
    boundaries = [fraction * iterations for fraction in config.train.boundaries]
    assert 200_000 <= boundaries[0] < boundaries[-1] < iterations
