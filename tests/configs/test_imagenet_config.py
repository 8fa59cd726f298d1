"""Each field of the ImageNet config changes an observable of a run on small images."""

import math

import numpy as np
import observed
import pytest
import small_images
from observed import flat, get_config, learner_observables, observables

from elu_zoo import errors, registry, training
from elu_zoo.evaluation import loss
from elu_zoo.evaluation.evaluator import Evaluator
from elu_zoo.training.config import resolve
from elu_zoo.training.config_checks import check_config, check_run
from elu_zoo.training.step import stream

NAME = "elu_imagenet_15"
# Fields of the base run, which each test repeats with one changed field.
BASE = {
    **observed.SCHEDULE,
    "model.width": 0.02,
    "model.stem_stride": 1,
    "model.spp_levels": (1, 2),
    "data.folder": "small",
    "data.image_size": 36,
    "data.crop_size": 32,
    "data.validation_images": 5,
    "data.train_examples": 12,
    "train.batch_size": 4,
}
# Hidden units at width 0.02; batch normalisation has four variables for each unit.
HIDDEN = 2 + 3 * 10 + 5 * 15 + 3 * 20 + 2 * 82
PARAMETERS = 37_050

# Columns as in `observed.FIELDS`, where None means not checked.
FIELDS = {
    **observed.FIELDS,
    "smoke": (False, "workdir", None, f"runs/{NAME}/elu-s0"),
    "schedule_epochs": (4, "schedule_share", 0.025, 0.5),
    "model.name": ("other_network", "model", NAME, "other_network"),
    "model.batch_norm": (True, "parameters", PARAMETERS, PARAMETERS + 4 * HIDDEN),
    "model.width": (0.03, "parameters", PARAMETERS, 85_711),
    "model.stem_stride": (2, "stem_side", 32, 16),
    "model.spp_levels": ((2,), "pyramid_size", 5 * 20, 4 * 20),
    "model.dropout": (0.25, "dropout", [0.5, 0.5], [0.25, 0.25]),
    "model.kernel_decay": (0.25, "decay", [0.0005] * 2, [0.25] * 2),
    "data.name": (
        *("mnist_5k", "error", ""),
        "elu_imagenet_15 cannot be trained on mnist_5k",
    ),
    "data.folder": ("other", "dataset", "small", "other"),
    "data.image_size": (40, "image_shape", (36, 36, 3), (40, 40, 3)),
    "data.crop_size": (34, "input_shape", (32, 32, 3), (34, 34, 3)),
    "data.validation_images": (3, "evaluated_images", [5, 5, 9, 5], [3, 3, 9, 3]),
    "data.train_examples": (0, "epoch_ends", [3, 6], [4, 8]),
    "data.train_on_validation": (
        *(True, "error", ""),
        "The validation images of imagenet2012 are part of its test images",
    ),
    "data.measure_test": (False, "evaluated_images", [5, 5, 9, 5], [5, 5, 5]),
    "data.cutout": (
        *(8, "error", ""),
        "data.cutout must be in [0, 64] pixels, and 0 unless data.augmentation is pad_crop_flip",
    ),
    "data.augmentation": ("none", "draws_shape", (4, 3), None),
    "train.batch_size": (6, "epoch_ends", [3, 6], [2, 4]),
    "train.loss": ("constant", "first_loss", pytest.approx(math.log(3)), 1.5),
}
# With a stride of 2 the map is too small for two levels of the pyramid.
NEEDED = {**observed.NEEDED_ENTRIES, "model.stem_stride": {"model.spp_levels": (1,)}}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder of two data sets, each with 3 classes, 18 training and 9 test images."""
    root = tmp_path_factory.mktemp("images")
    for seed, name in enumerate(("small", "other")):
        small_images.write_splits(root / name, train=6, val=3, side=12 + seed)
    return root


@pytest.fixture(scope="module")
def observe(tmp_path_factory, root):
    """A function that runs a config on small images and returns the observables.

    The fake training step of the run records observables and updates no weights.
    """
    values = {}

    def record(self, batches, rates, first_step, draws):
        model, count = self._update._model, len(batches)
        conv, classifier = (model.get_layer(name) for name in ("stack2_conv1", "classifier"))
        values["rates"] += [pytest.approx(rate) for rate in rates.tolist()]
        values["draws_shape"] = None if draws is None else draws[0].shape
        values["image_shape"] = self._data.image_shape
        values["input_shape"] = model.input_shape[1:]
        values["stem_side"] = model.get_layer("stack1_conv1").output.shape[1]
        values["pyramid_size"] = model.get_layer("pyramid").output.shape[-1]
        values["dropout"] = [model.get_layer(f"dense{i}_drop").rate for i in (1, 2)]
        penalties = [layer.kernel_regularizer for layer in (conv, classifier)]
        values["decay"] = [x and pytest.approx(2 * float(x.l2)) for x in penalties]
        values["compute_dtype"] = conv.compute_dtype
        values["kernel"] = float(np.asarray(conv.kernel)[0, 0, 0, 0])
        learner = self._update._learner
        values.update(learner_observables(learner))
        labels = np.zeros(len(batches[0]), "int32")
        loss = learner.objective(None, labels, np.zeros((len(labels), 3), "float32"))
        return np.full(count, np.mean(loss))

    def evaluate(self, split, check=None):
        values["evaluated_images"].append(len(split))
        return {"loss": 1.0, "error_percent": 50.0}

    constant = loss.Loss(lambda labels, z: 0 * z[:, 0] + 1.5, of_images=False)

    def observe(config):
        values.update(rates=[], evaluated_images=[])
        workdir = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            patch.setattr(stream.StreamStep, "run", record)
            patch.setattr(Evaluator, "__call__", evaluate)
            patch.setitem(loss.LOSSES, "constant", constant)
            patch.setitem(registry.READOUTS, "constant", "linear")
            patch.setitem(registry._MODELS, "other_network", registry.entry(NAME))
            try:
                entry = training.train(config, workdir)
            except errors.UsageError as error:
                return {"error": str(error).partition(". ")[0]}
        return {**observables(config, workdir, entry), **values, "error": ""}

    return observe


@pytest.fixture(scope="module")
def base(observe):
    """The observables of the base run."""
    return observe(config_with())


def config_with(entries=()):
    config = get_config(NAME, "smoke=True")
    config.update_from_flattened_dict({**BASE, **dict(entries)})
    return config


SMOKE = {
    "smoke": True,
    "model.width": 0.05,
    "data.validation_images": 50,
    "data.train_examples": 100,
    "train.batch_size": 20,
    "train.epochs": 2,
    "train.learning_rates": [0.001, 0.0001, 0.00001],
    "train.checkpoint_every": 5,
}


@pytest.mark.parametrize(("arg", "differing"), [("", {}), ("smoke=True", SMOKE)])
def test_arguments_change_only_the_listed_fields(arg, differing):
    config = get_config(NAME, arg)
    assert flat(config) == {**flat(get_config(NAME)), **differing}
    check_config(config)
    examples = config.data.train_examples or 1_281_167
    steps = examples // config.train.batch_size * config.train.epochs
    check_run(resolve(config).config, steps, 1)


def test_the_default_has_the_settings_of_paper_section_4_4():
    config = get_config(NAME)
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
    check_config(config)
    check_run(resolve(config).config, iterations, 1)
