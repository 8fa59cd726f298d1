"""With `schedule=paper`, the baselines of Table 1 have the recipes of their authors."""

import math

import numpy as np
import pytest
from fake_runs import get_config

from elu_zoo.configs.table1_baselines import NETS
from elu_zoo.training import schedules

# Factors on the learning rates of variables.
BIASES = {"bias": 2.0}
CLASS_MAPS = {"classifier/kernel": 0.1, "classifier/bias": 0.2, **BIASES}
HEADS = {
    f"head{i}/{kind}": factor
    for i in (1, 2, 3)
    for kind, factor in (("kernel", 0.001), ("bias", 0.002))
}
CONVOLUTIONS = {f"h{i}/{kind}": 0.05 for i in (0, 1, 2) for kind in ("kernel", "bias")}
NIN, ALLCNN = 390, 195  # iterations per epoch
# (network, data set): (iterations, batch size, {iteration: learning rate}, momentum, whether the
# momentum is Nesterov's, factors on learning rates, padding in pixels on each side, other fields).
RECIPES = {
    ("alexnet_cifar", "both"): (
        *(70_000, 100),
        {0: 1e-3, 59_999: 1e-3, 60_000: 1e-4, 64_999: 1e-4, 65_000: 1e-5},
        *(0.9, False, BIASES, None),
        {"model": {"kernel_decay": 0.004, "classifier_decay": 1.0}},
    ),
    ("nin", "cifar10"): (
        *(260 * NIN, 128),
        {0: 0.1, 200 * NIN - 1: 0.1, 200 * NIN: 0.01, 230 * NIN: 0.001},
        *(0.9, False, CLASS_MAPS, 4),
        {"model": {"kernel_decay": 1e-4, "dropout": 0.5}},
    ),
    ("nin", "cifar100"): (
        *(260 * NIN, 128),
        {0: 0.02, 200 * NIN - 1: 0.02, 200 * NIN: 0.002, 230 * NIN: 0.0002},
        *(0.9, False, BIASES, None),
        {"model": {"kernel_decay": 5e-4, "deviations": (0.001, 0.01, 0.05)}},
    ),
    ("dsn", "cifar10"): (
        *(200_000, 100),
        {0: 0.025, 150_000: 0.025, 150_001: 0.00125, 169_999: 0.00125, 170_000: 1e-4},
        *(0.9, False, {**HEADS, **CLASS_MAPS}, 4),
        {
            "model": {"kernel_decay": 5e-4, "dropout": 0.5, "auxiliary_heads": True},
            "train": {"loss": "squared_hinge", "heads_until": 0.25},
        },
    ),
    ("dsn", "cifar100"): (
        *(200_000, 100),
        {0: 0.025, 150_001: 0.00125, 170_000: 1e-4},
        *(0.9, False, {**HEADS, **CLASS_MAPS}, None),
        {"train": {"loss": "softmax_cross_entropy", "heads_until": 0.25}},
    ),
    ("maxout", "cifar10"): (
        *(474 * NIN, 128),
        {e * NIN: 0.17 * (1 - 0.99 * e / 500) for e in (0, 100, 473)},
        *(0.65, False, CONVOLUTIONS, 8),
        {
            "model": {"constrained": True, "dropout": (0.2, 0.5, 0.5, 0.5, 0.5)},
            "train": {"momentum_rise": (0.5, 250 / 474)},
        },
    ),
    ("maxout", "cifar100"): (
        *(785 * NIN, 128),
        {0: 0.17, 250 * NIN: 0.17 * 0.505, 500 * NIN: 0.0017, 785 * NIN - 1: 0.0017},
        *(0.6, False, CONVOLUTIONS, None),
        {"train": {"momentum_rise": (0.5, 250 / 785)}},
    ),
    ("allcnn_c", "both"): (
        *(350 * ALLCNN, 256),
        {0: 0.05, 200 * ALLCNN: 0.005, 250 * ALLCNN: 5e-4, 300 * ALLCNN: 5e-5},
        *(0.9, False, {}, 5),
        {"model": {"kernel_decay": 0.001, "dropout": (0.2, 0.5, 0.5)}},
    ),
    ("highway_19", "cifar10"): (
        *(200_000, 100),
        {0: 0.025, 99_999: 0.025, 100_000: 2.5e-3, 150_000: 2.5e-4, 175_000: 2.5e-5},
        *(0.9, True, BIASES, 8),
        {"model": {"kernel_decay": 0.001, "classifier_decay": 0.01, "dropout": 0.2}},
    ),
    ("highway_19", "cifar100"): (
        *(200_000, 100),
        {0: 0.025, 100_000: 2.5e-3, 150_000: 2.5e-4, 175_000: 2.5e-5},
        *(0.9, True, BIASES, 8),
        {"model": {"first_deviation": 1.0, "classifier_deviation": 0.1414}},
    ),
    # The author's update adds (1 - momentum) * learning rate * sum of 50 gradients. The
    # config's update adds learning rate * mean of 50 gradients, hence 50 * 0.01.
    ("fmp", "both"): (
        *(810_000, 50),
        {e * 1000: 0.003 * math.exp(-0.005 * e) * 50 * 0.01 for e in (0, 400, 809)},
        *(0.99, True, {}, None),
        {
            "model": {"filters": 160, "regions": "pseudorandom"},
            "data": {"augmentation": "affine_recolor", "field_size": 94, "whole_epochs": 10},
        },
    ),
}


@pytest.mark.parametrize("dataset", ["cifar10", "cifar100"])
@pytest.mark.parametrize("net", NETS)
def test_the_recipe_is_that_of_the_authors(net, dataset):
    recipe = RECIPES.get((net, "both")) or RECIPES[net, dataset]
    iterations, batch, rates, momentum, nesterov, factors, padding, fields = recipe
    config = get_config("table1_baselines", f"net={net},dataset={dataset}")
    train = config.train
    assert train.batch_size == batch
    assert 50_000 // batch * train.epochs == iterations
    learning_rates = schedules.learning_rates(np.asarray(list(rates)), train, iterations)
    np.testing.assert_allclose(learning_rates, list(rates.values()), rtol=3e-4)
    assert (train.momentum, train.get("nesterov", False)) == (momentum, nesterov)
    assert list(train.get("learning_rate_factors", ())) == list(factors.items())
    assert config.data.get("padding") == padding
    assert (config.data.augmentation == "pad_crop_flip") == (padding is not None)
    for group, entries in fields.items():
        assert {key: config[group][key] for key in entries} == entries
    assert (config.schedule, config.schedule_epochs) == ("paper", train.epochs)
