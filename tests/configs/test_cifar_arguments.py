"""The CIFAR configs have the schedules of the paper and refuse wrong arguments."""

import numpy as np
import pytest
from fake_runs import get_config

from elu_zoo import errors
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run


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
    check_config(config)
    check_run(resolve(config).config, iterations, 1)
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


@pytest.mark.parametrize(
    ("name", "arg", "words"),
    [
        ("elu_cifar_11", "schedule=papr", "Unknown schedule 'papr'. .* 'paper'"),
        ("elu_cifar_18", "epochs=9", "Only schedule=quick.*epochs=9"),
        ("elu_cifar_18", "schedule=quik", "Unknown schedule 'quik'. .* 'quick'"),
    ],
)
def test_wrong_arguments_raise_a_usage_error(name, arg, words):
    with pytest.raises(errors.UsageError, match=words):
        get_config(name, arg)
