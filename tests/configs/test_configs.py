"""Each field of the MNIST configs changes an observable of a run on random images."""

import keras
import pytest
from observed import CIFAR, flat, get_config, loader, observables

from elu_zoo import errors, registry, training, zoo
from elu_zoo.bin.config import installed
from elu_zoo.data import load
from elu_zoo.evaluation import loss
from elu_zoo.training.config_checks import check_config
from elu_zoo.training.step import resident

# Fields of the base run, of 3 iterations per epoch. Each test changes one field.
BASE = {
    "smoke": True,
    "schedule": "paper",
    "schedule_epochs": 10,
    "model.width": 0.05,
    "data.name": "mnist_5k",
    "data.train_examples": 48,
    "train.batch_size": 16,
    "train.epochs": 2,
    "train.momentum": 0.9,
    "train.boundaries": (1,),
    "train.learning_rates": (1e-5, 5e-6),
    "train.evaluate_every": 1,
    "train.checkpoint_every": 2,
    "train.checkpoints_kept": 2,
}
RATES = [1e-5] + [5e-6] * 5
LINEAR = [1e-5 - 5e-6 * i / 6 for i in range(6)]

# Columns as in `observed.FIELDS`, where None means not checked.
FIELDS = {
    "name": ("other", "workdir", None, "runs/other/elu-s0-smoke"),
    "seed": (1, "first_loss", None, None),
    "smoke": (False, "workdir", None, "runs/mnist_mlp_8x128/elu-s0"),
    "schedule": ("ours", "schedule", "paper", "ours"),
    "schedule_epochs": (4, "schedule_share", 0.2, 0.5),
    "model.activation.name": ("relu", "activation", "elu", "relu"),
    "model.activation.alpha": (0.5, "alpha", 1.0, 0.5),
    "data.name": ("mnist", "dataset", "mnist_5k", "mnist"),
    "data.train_examples": (0, "epoch_ends", [3, 6], [6, 12]),
    "data.train_on_validation": (True, "evaluated", [1, 2], []),
    "data.measure_test": (False, "tested", True, False),
    "data.cutout": (8, "error", "", "data.cutout must be in [0, 64] pixels, and 0"),
    "data.augmentation": ("pad_crop_flip", "first_loss", None, None),
    "train.batch_size": (24, "epoch_ends", [3, 6], [2, 4]),
    "train.epochs": (3, "epoch_ends", [3, 6], [3, 6, 9]),
    "train.precision": ("bfloat16_matmuls", "first_loss", None, None),
    "train.optimizer": ("muon", "optimizer", "SGD", "Muon"),
    "train.sgd_factor": (3.0, "sgd_factor", None, 3.0),
    "train.sgd_decay": (0.5, "sgd_decay", None, 0.5),
    "train.momentum": (0.5, "last_loss", None, None),
    "train.nesterov": (True, "last_loss", None, None),
    "train.learning_rate_shape": ("linear", "rates", RATES, LINEAR),
    "train.boundaries": ((4,), "rates", RATES, [1e-5] * 4 + [5e-6] * 2),
    "train.learning_rates": ((1e-5, 2e-6), "rates", RATES, [1e-5] + [2e-6] * 5),
    "train.evaluate_every": (2, "evaluated", [1, 2], [2]),
    "train.checkpoint_every": (5, "checkpoints", [4, 6], [5, 6]),
    "train.keep_best": (True, "kept_step", None, 6),
    "train.checkpoints_kept": (3, "checkpoints", [4, 6], [2, 4, 6]),
}
MUON = {"train.optimizer": "muon", "train.nesterov": True}
# field: entries that a config needs if the field has the changed value.
NEEDED_ENTRIES = {
    "train.optimizer": MUON,
    "train.sgd_factor": MUON,
    "train.sgd_decay": MUON,
    # A linear schedule needs two more rates than boundaries.
    "train.learning_rate_shape": {"train.boundaries": ()},
}
# Hidden units at width 0.05; batch normalisation has four variables for each unit.
CLASSIFIER, AUTOENCODER = 8 * 6, 2 * (50 + 25 + 12)
TABLES = {
    "mnist_mlp_8x128": {
        **FIELDS,
        "model.name": ("mnist_mlp_5x256", "parameters", 5074, 11073),
        "model.batch_norm": (True, "parameters", 5074, 5074 + 4 * CLASSIFIER),
        "model.width": (0.1, "parameters", 5074, 11619),
        "train.loss": ("constant", "first_loss", None, 1.5),
        "train.label_smoothing": (0.1, "last_loss", None, None),
    },
    # All other fields change the training loop and are tested with mnist_mlp_8x128.
    "mnist_autoencoder": {
        "model.name": (
            *("other_autoencoder", "model"),
            *("mnist_autoencoder", "other_autoencoder"),
        ),
        "model.batch_norm": (True, "parameters", 82508, 82508 + 4 * AUTOENCODER),
        "model.width": (0.1, "parameters", 82508, 170587),
        "train.loss": ("half_squared_error", "first_loss", None, None),
        "train.label_smoothing": (
            *(0.1, "error", ""),
            "train.label_smoothing must be in [0, 1), and 0.0",
        ),
    },
}

# config: (a similar config, fields that differ, further fields that differ with
# smoke=True).
VARIANTS = {
    "quickstart": (
        "mnist_mlp_8x128",
        {
            "name": "quickstart",
            "schedule": "ours",
            "schedule_epochs": 30,
            "data.name": "mnist_5k",
            "train.learning_rates": [0.05],
            "train.epochs": 30,
            "train.checkpoint_every": 500,
        },
        {"train.epochs": 2, "train.checkpoint_every": 10, "data.train_examples": 640},
    ),
    "mnist_mlp_5x256": (
        "mnist_mlp_8x128",
        {
            "name": "mnist_mlp_5x256",
            "schedule_epochs": 200,
            "model.name": "mnist_mlp_5x256",
            "train.epochs": 200,
        },
        {"train.epochs": 2},
    ),
    "mnist_autoencoder": (
        "mnist_mlp_8x128",
        {
            "name": "mnist_autoencoder",
            "schedule_epochs": 500,
            "model.name": "mnist_autoencoder",
            "train.epochs": 500,
            "train.loss": "sigmoid_cross_entropy",
            "train.learning_rates": [0.001],
            "train.evaluate_every": 5,
        },
        {"train.epochs": 2, "train.evaluate_every": 1},
    ),
    "mnist_autoencoder_mse": (
        "mnist_autoencoder",
        {
            "name": "mnist_autoencoder_mse",
            "train.loss": "half_squared_error",
            "train.learning_rates": [0.0001],
        },
        {},
    ),
}
CONFIGS = ("mnist_mlp_8x128", *VARIANTS)
AUTOENCODERS = ("mnist_autoencoder", "mnist_autoencoder_mse")


@pytest.fixture(scope="module")
def observe(tmp_path_factory):
    """A function that runs a config on random images and returns the observables."""
    rates, optimizers = [], []
    original_run = resident.ResidentStep.run
    random_data = loader((28, 28, 1), classes=10)
    autoencoder = registry.entry("mnist_autoencoder")

    def record(self, batches, learning_rates, *arguments):
        rates.extend(learning_rates.tolist())
        optimizers.append(self._update._learner.optimizer)
        return original_run(self, batches, learning_rates, *arguments)

    constant = loss.Loss(lambda labels, z: 0 * z[:, 0] + 1.5, of_images=False)

    def observe(config):
        rates.clear()
        workdir = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(load, "load", random_data)
            patch.setattr(resident.ResidentStep, "run", record)
            patch.setitem(loss.LOSSES, "constant", constant)
            patch.setitem(registry.READOUTS, "constant", "linear")
            patch.setitem(registry._MODELS, "other_autoencoder", autoencoder)
            try:
                entry = training.train(config, workdir, compile="off")
            except errors.UsageError as error:
                return {"error": str(error).partition(" unless")[0]}
        values = observables(config, workdir, entry)
        for name in ("sgd_factor", "sgd_decay"):
            values[name] = getattr(optimizers[-1], name, None)
        values["optimizer"] = type(optimizers[-1]).__name__
        values["kept_step"] = entry.get("kept_step")
        values["tested"] = "test_loss" in entry["metrics"]
        values["rates"] = [pytest.approx(rate) for rate in rates]
        return values | {"error": ""}

    return observe


@pytest.fixture(scope="module")
def base(observe):
    """A function that returns the observables of the base run of a named config."""
    cache = {}

    def get(name):
        if name not in cache:
            cache[name] = observe(config_with(name))
        return cache[name]

    return get


def config_with(name, entries=()):
    config = get_config(name, "smoke=True")
    config.update_from_flattened_dict({**BASE, **dict(entries)})
    return config


@pytest.mark.parametrize("arg", ["", "activation=relu,seed=3,batch_norm=True"])
@pytest.mark.parametrize("smoke", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_fields_that_differ_from_a_similar_config(name, smoke, arg):
    similar, differing, smoke_fields = VARIANTS[name]
    arg = f"{arg},smoke={smoke}"
    expected = {**flat(get_config(similar, arg)), **differing}
    expected |= smoke_fields if smoke else {}
    assert flat(get_config(name, arg)) == expected
    check_config(get_config(name, arg))


@pytest.mark.parametrize("name", sorted(VARIANTS.keys() - TABLES.keys()))
def test_a_config_without_a_table_can_be_trained(observe, base, name):
    values, similar_values = base(name), base(VARIANTS[name][0])
    assert values["workdir"] == f"runs/{name}/elu-s0-smoke"
    assert values["epoch_ends"] == [3, 6] and values["rates"] == RATES
    # The quickstart has the network and the loss of mnist_mlp_8x128.
    is_equal = values["first_loss"] == similar_values["first_loss"]
    assert is_equal == (name == "quickstart")


def test_every_installed_config_is_tested():
    others = {"elu_imagenet_15", "finetune", "mnist_depth", "table1_baselines"}
    assert set(installed()) == {*CONFIGS, *CIFAR, *others}


@pytest.mark.parametrize("arg", ["", "smoke=True,seed=2,"])
@pytest.mark.parametrize("name", AUTOENCODERS)
def test_another_learning_rate_changes_the_name(name, arg):
    default = flat(get_config(name, arg))
    for rate in (1e-2, 1e-3, 1e-4, 1e-5):
        config = get_config(name, f"{arg}learning_rate={rate}")
        is_default = default["train.learning_rates"] == [rate]
        folder = name if is_default else f"{name}-lr{rate:g}"
        changes = {"name": folder, "train.learning_rates": [rate]}
        assert flat(config) == {**default, **changes}
        check_config(config)


@pytest.mark.parametrize(
    ("name", "epochs", "rate", "units"),
    [
        ("mnist_mlp_8x128", 300, 0.01, [128] * 8 + [10]),
        ("mnist_mlp_5x256", 200, 0.01, [256] * 5 + [10]),
        ("mnist_autoencoder", 500, 1e-3, [1000, 500, 250, 30, 250, 500, 1000, 784]),
    ],
)
def test_the_default_has_the_settings_of_paper_section_4_1(name, epochs, rate, units):
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
    model = zoo.get_model(config.model.name, preprocessing=False)
    dense = [x.units for x in model.layers if isinstance(x, keras.layers.Dense)]
    assert dense == units


@pytest.mark.slow
def test_the_quickstart_reaches_the_error_of_its_card(tmp_path):
    entry = training.train(get_config("quickstart"), tmp_path)
    assert entry["metrics"]["test_error_percent"] < 9
