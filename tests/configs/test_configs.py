"""Each field of each config acts: field -> the smallest observable that changes."""

import importlib
import json
from importlib import resources

import keras
import numpy as np
import pytest

from elu_zoo import registry, training, zoo
from elu_zoo.data import sources
from elu_zoo.training import losses, settings, tf_step

CONFIGS = ("mnist_mlp_8x128", "quickstart")

# The run from which one field at a time is changed: 3 iterations in each epoch.
BASE = {
    "smoke": True,
    "schedule": "paper",
    "schedule_epochs": 10,
    "model.width": 0.05,
    "data.name": "mnist_5k",
    "data.train_examples": 48,
    "train.batch_size": 16,
    "train.epochs": 2,
    "train.boundaries": (1,),
    "train.learning_rates": (0.05, 0.01),
    "train.checkpoint_every": 2,
    "train.checkpoints_kept": 2,
}

# field: (another value, observable, what it is in the base run, and then);
# None: the value is not known before, but differs.
FIELDS = {
    "name": ("other", "workdir", None, "runs/other/elu-s0-smoke"),
    "seed": (1, "first_loss", None, None),
    "smoke": (False, "workdir", None, "runs/{name}/elu-s0"),
    "schedule": ("fast", "schedule", "paper", "fast"),
    "schedule_epochs": (4, "share", 0.2, 0.5),
    "model.name": ("other_model", "model", "mnist_mlp_8x128", "other_model"),
    "model.activation.name": ("relu", "activation", "elu", "relu"),
    "model.activation.alpha": (0.5, "alpha", 1.0, 0.5),
    "model.batch_norm": (True, "parameters", 5074, 5074 + 8 * 4 * 6),
    "model.width": (0.1, "parameters", 5074, 11619),
    "data.name": ("mnist", "dataset", "mnist_5k", "mnist"),
    "data.train_examples": (0, "epoch_ends", [3, 6], [6, 12]),
    "train.batch_size": (24, "epoch_ends", [3, 6], [2, 4]),
    "train.epochs": (3, "epoch_ends", [3, 6], [3, 6, 9]),
    "train.loss": ("constant", "first_loss", None, 1.5),
    "train.momentum": (0.9, "last_loss", None, None),
    "train.boundaries": ((4,), "rates", [0.05] + [0.01] * 5, [0.05] * 4 + [0.01] * 2),
    "train.learning_rates": (
        *((0.05, 0.02), "rates"),
        *([0.05] + [0.01] * 5, [0.05] + [0.02] * 5),
    ),
    "train.evaluate_every": (2, "evaluated", [1, 2], [2]),
    "train.checkpoint_every": (5, "checkpoints", [4, 6], [5, 6]),
    "train.checkpoints_kept": (3, "checkpoints", [4, 6], [2, 4, 6]),
}


def get_config(name, arg=""):
    return importlib.import_module(f"elu_zoo.configs.{name}").get_config(arg)


def flat(config):
    return settings._flat(settings.as_dict(config))


@pytest.fixture(scope="module")
def observe(tmp_path_factory):
    """Runs a config on random images, and tells all that the table looks at."""
    generator = np.random.default_rng(0)

    def split(count):
        images = generator.integers(0, 256, (count, 28, 28, 1), "uint8")
        return sources.Split(images, generator.integers(0, 10, count).astype("int32"))

    parts = split(96), split(8), split(8)
    rates = []
    run = tf_step.TFStep.run
    model = registry.entry("mnist_mlp_8x128")

    def load(name, data_dir=None):
        return sources.ImageData(name, *parts, tuple("0123456789"), "", "terms")

    def recorded(self, batches, learning_rates):
        rates.extend(learning_rates.tolist())
        return run(self, batches, learning_rates)

    def constant(labels, logits):
        return 0 * logits[:, 0] + 1.5

    def observe(config):
        from elu_zoo.bin.train import default_workdir

        rates.clear()
        workdir = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sources, "load", load)
            patch.setattr(tf_step.TFStep, "run", recorded)
            patch.setitem(losses.LOSSES, "constant", constant)
            patch.setitem(registry._MODELS, "other_model", model)
            entry = training.train(config, workdir, compile="off")
        lines = (workdir / "metrics.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        steps = [p.name[5:] for p in (workdir / "checkpoints").iterdir()]
        return {
            "workdir": str(default_workdir(config)),
            "schedule": entry["schedule"],
            "share": entry["schedule_share"],
            "model": entry["model"],
            "dataset": entry["dataset"],
            "activation": entry["arguments"]["activation"]["name"],
            "alpha": entry["arguments"]["activation"].get("alpha"),
            "parameters": entry["parameters"],
            "epoch_ends": [row["step"] for row in rows],
            "evaluated": [r["epoch"] for r in rows if "validation_loss" in r],
            "checkpoints": sorted(int(step) for step in steps),
            "rates": [pytest.approx(rate) for rate in rates],
            "first_loss": rows[0]["train_loss"],
            "last_loss": rows[-1]["train_loss"],
        }

    return observe


@pytest.fixture(scope="module")
def base(observe):
    """What the base run of each config shows, made once."""
    found = {}

    def get(name):
        if name not in found:
            found[name] = observe(changed(name))
        return found[name]

    return get


def changed(name, entries=()):
    config = get_config(name, "smoke=True")
    config.update_from_flattened_dict({**BASE, **dict(entries)})
    return config


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", CONFIGS)
def test_field(observe, base, name, field):
    value, observable, before, after = FIELDS[field]
    found = observe(changed(name, {field: value}))[observable]
    if before is not None:
        assert base(name)[observable] == before
    if after is not None:
        after = after.format(name=name) if isinstance(after, str) else after
        assert found == after
    assert found != base(name)[observable]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_table_is_complete(name):
    assert flat(get_config(name)).keys() == FIELDS.keys()


def test_every_installed_config_has_a_table():
    files = resources.files("elu_zoo.configs").iterdir()
    names = {f.name.removesuffix(".py") for f in files if f.name.endswith(".py")}
    assert names - {"__init__", "arguments"} == set(CONFIGS)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(
    "arg, field, value",
    [
        ("activation=relu", "model.activation.name", "relu"),
        ("seed=3", "seed", 3),
        ("batch_norm=True", "model.batch_norm", True),
        ("smoke=True", "smoke", True),
    ],
)
def test_arguments(name, arg, field, value):
    default, found = flat(get_config(name)), flat(get_config(name, arg))
    assert found[field] == value != default[field]
    differing = {key for key in default if found[key] != default[key]}
    assert differing == {field} or arg == "smoke=True"
    settings.check(get_config(name, arg))


@pytest.mark.parametrize("name", CONFIGS)
def test_docstring_is_the_experiments_card(name):
    card = importlib.import_module(f"elu_zoo.configs.{name}").__doc__
    assert f"elu-zoo-train --config={name}" in card
    for word in ("Command:", "Arguments: activation, seed, batch_norm, smoke", "Paper"):
        assert word in card


def test_the_papers_schedule():
    """Section 4.1.1, and what its authors' framework adds."""
    config = get_config("mnist_mlp_8x128")
    assert config.schedule == "paper"
    train = config.train.to_dict()
    assert train["batch_size"] == 64
    assert train["epochs"] == config.schedule_epochs == 300
    assert train["learning_rates"] == (0.01,) and train["boundaries"] == ()
    assert train["momentum"] == 0
    assert config.model.width == 1 and config.data.train_examples == 0
    model = zoo.get_model(config.model.name)
    units = [x.units for x in model.layers if isinstance(x, keras.layers.Dense)]
    assert units == [128] * 8 + [10]


def test_quickstart_keeps_its_promise(tmp_path):
    """A test error below 9 %, from images that need no download."""
    entry = training.train(get_config("quickstart"), tmp_path)
    assert entry["metrics"]["test_error_percent"] < 9
