"""Every field of a config changes something that a run does, or records."""

from operator import attrgetter

import keras
import numpy as np
import pytest
import small_images
from fake_runs import flat, get_config, observe

from elu_zoo.bin.config import default_workdir, installed
from elu_zoo.configs.table1_baselines import NETS
from elu_zoo.layers import Dropout
from elu_zoo.training.fields import FIELDS

# Base runs have two epochs of three iterations. Of each: config with arguments, shape of
# the random images, and fields.
SHORT = {
    "data.train_examples": 48,
    "train.batch_size": 16,
    "train.checkpoint_every": 2,
    "train.checkpoints_kept": 2,
}
STEPS = {"train.boundaries": (1,), "train.learning_rates": (0.01, 0.005)}
ONE_RATE = {
    "train.boundaries": (),
    "train.learning_rates": (0.02,),
    "train.learning_rate_shape": "steps",
}
BASES = {
    "mlp": (
        *("quickstart:smoke=True", (28, 28, 1)),
        {**SHORT, **STEPS, "model.width": 0.05, "train.momentum": 0.9},
    ),
    "depth": ("mnist_depth:smoke=True", (28, 28, 1), {**SHORT, **STEPS, "model.width": 0.05}),
    "finetune": (
        *("finetune:model=mnist_mlp_5x256,weights=none,smoke=True", (28, 28, 1)),
        {**SHORT, "data.name": "mnist_5k", "model.activation.name": "elu"},
    ),
    "cifar": (
        *("elu_cifar_11:smoke=True", (32, 32, 3)),
        {
            **{**SHORT, **STEPS, "model.width": 0.02, "data.train_on_validation": False},
            "train.phase_boundaries": (2, 4),
            "train.dropout": tuple((rate,) * 7 for rate in (0.1, 0.2, 0.3)),
            "train.dropout_placement": ("last", "all", "last"),
        },
    ),
    "imagenet": (
        *("elu_imagenet_15:smoke=True", None),
        {
            **{**SHORT, **STEPS, "data.train_examples": 12, "train.batch_size": 4},
            **{"data.folder": "small", "data.image_size": 36, "data.crop_size": 32},
            **{"model.stem_stride": 1, "model.spp_levels": (1, 2), "model.width": 0.02},
            "data.validation_images": 5,
        },
    ),
    **{
        net: (
            *(f"table1_baselines:net={net},dataset=cifar10,smoke=True", (32, 32, 3)),
            {**SHORT, **ONE_RATE},
        )
        for net in NETS
    },
}
MUON = {"train.optimizer": "muon", "train.nesterov": True}
FINETUNED = {"model.weights": "mnist", "model.width": 1.0, "model.batch_norm": False}


def argument(name):
    return lambda run: run.entry["arguments"][name]


def entry(name):
    return lambda run: run.entry.get(name)


def optimizer(name):
    return lambda run: getattr(run.learner.optimizer, name, None)


def weighted(run):
    return [layer for layer in run.model.layers if hasattr(layer, "kernel")]


def deviation(index):
    """The observable that is the standard deviation of the initial kernel of a layer."""
    return lambda run: float(np.std(np.asarray(weighted(run)[index].kernel)))


def decay(index):
    def read(run):
        penalty = weighted(run)[index].kernel_regularizer
        return penalty and round(2 * float(penalty.l2), 7)

    return read


def of_layer(name):
    return lambda run: [layers.get(name) for layers in run.layers]


def dropout(run):
    return [x.rate for x in run.model.layers if isinstance(x, Dropout)]


def heads(run):
    return [layers["heads"] for layers in run.layers if "heads" in layers]


def draw_range(run):
    return None if run.draws[0] is None else (np.min(run.draws), np.max(run.draws))


checkpoints, rates = attrgetter("steps"), attrgetter("rates")
parameters = entry("parameters")


def workdir(run):
    return str(default_workdir(run.config))


def epoch_ends(run):
    return [row["step"] for row in run.rows]


def evaluated(run):
    return [row["epoch"] for row in run.rows if "validation_loss" in row]


def constraint(run):
    bound = weighted(run)[0].kernel_constraint
    return bound and bound.max_value


def smoothing(run):
    # For class 1 and the logits (0, 1), the loss term is smoothing * (1 - 0.5).
    term = run.learner.objective.smoothing(np.array([1]), np.array([[0.0, 1.0]]))
    return term and round(float(term[0]), 6)


def paddings(run):
    return sum(isinstance(x, keras.layers.ZeroPadding2D) for x in run.model.layers)


def augmented(run):
    return [np.unique(draws).size > 1 for draws in run.draws]


def frozen(run):
    return sum(not layer.trainable for layer in run.model.layers if layer.weights)


FACTORS = (("bias", 2.0),)
# (base run, field, changed value, observable, its value before and after the change;
# ANY is not checked, except that the two values differ).
ANY = object()
ROWS = [
    ("mlp", "name", "other", workdir, ANY, "runs/other/elu-s0-smoke"),
    ("mlp", "seed", 1, deviation(0), ANY, ANY),
    ("mlp", "smoke", False, workdir, ANY, "runs/quickstart/elu-s0"),
    ("mlp", "schedule", "paper", entry("schedule"), "ours", "paper"),
    ("mlp", "schedule_epochs", 4, entry("schedule_share"), ANY, 0.5),
    ("mlp", "model.name", "mnist_mlp_5x256", entry("model"), ANY, "mnist_mlp_5x256"),
    ("mlp", "model.activation.name", "relu", argument("activation"), ANY, {"name": "relu"}),
    ("mlp", "model.activation.alpha", 0.5, argument("activation"), ANY,
     {"name": "elu", "alpha": 0.5}),
    ("mlp", "model.batch_norm", True, parameters, 5074, 5074 + 4 * 8 * 6),
    ("mlp", "model.width", 0.1, parameters, 5074, 11619),
    ("depth", "model.hidden_layers", 2, parameters, 5074, 5074 - 6 * 42),
    ("finetune", "model.weights", FINETUNED, entry("parent"), None,
     "mnist_mlp_5x256.mnist_elu-7e121cbf"),
    ("cifar", "model.padding", "same", paddings, 3, 0),
    ("cifar", "model.init_scale", 4.0, deviation(1), ANY, ANY),
    ("cifar", "model.kernel_decay", 0.25, decay(1), 0.0005, 0.25),
    ("highway_19", "model.classifier_decay", 0.5, decay(-1), 0.01, 0.5),
    ("highway_19", "model.first_deviation", 0.5, deviation(0), 1.0, 0.5),
    ("highway_19", "model.classifier_deviation", 0.1, deviation(-1), 0.05, 0.1),
    ("nin", "model.deviations", (0.05, 0.01, 0.05), deviation(1), ANY, ANY),
    ("nin", "model.dropout", 0.25, dropout, [0.5, 0.5], [0.25, 0.25]),
    ("allcnn_c", "model.dropout", (0.1,) * 3, dropout, [0.2, 0.5, 0.5], [0.1] * 3),
    ("imagenet", "model.dropout", 0.25, dropout, [0.5, 0.5], [0.25, 0.25]),
    ("imagenet", "model.stem_stride", {"model.stem_stride": 2, "model.spp_levels": (1,)},
     lambda run: run.model.get_layer("stack1_conv1").output.shape[1], 32, 16),
    ("imagenet", "model.spp_levels", (2,),
     lambda run: run.model.get_layer("pyramid").output.shape[-1], 5 * 20, 4 * 20),
    ("dsn", "model.auxiliary_heads",
     {"model.auxiliary_heads": False, "train.heads_until": 1.0,
      "train.learning_rate_factors": FACTORS}, heads, [True] * 2 + [False] * 4, []),
    ("maxout", "model.constrained", False, constraint, 0.9, None),
    ("fmp", "model.filters", 320, parameters, ANY, ANY),
    ("fmp", "model.regions", "random",
     lambda run: {x.regions for x in run.model.layers if hasattr(x, "regions")},
     {"pseudorandom"}, {"random"}),
    ("mlp", "data.name", "mnist", entry("dataset"), "mnist_5k", "mnist"),
    ("mlp", "data.train_examples", 0, epoch_ends, [3, 6], [6, 12]),
    ("mlp", "data.train_on_validation", True, evaluated, [1, 2], []),
    ("mlp", "data.measure_test", False, lambda run: "test_loss" in run.entry["metrics"],
     True, False),
    ("mlp", "data.augmentation", "pad_crop_flip", draw_range, None, (0, 8)),
    ("cifar", "data.cutout", 8, lambda run: run.draws[0].shape[-1], 3, 5),
    ("nin", "data.padding", 2, draw_range, (0, 8), (0, 4)),
    ("fmp", "data.field_size", 64, lambda run: run.model.input_shape[1], 94, 64),
    ("fmp", "data.whole_epochs", 0, augmented, [True] * 3 + [False] * 3, [True] * 6),
    ("finetune", "data.image_shape", (20, 20), argument("input_shape"), [28, 28, 1], [20, 20, 1]),
    ("imagenet", "data.folder", "other", entry("dataset"), "small", "other"),
    ("imagenet", "data.image_size", 40, lambda run: run.data.image_shape[0], 36, 40),
    ("imagenet", "data.crop_size", 34, lambda run: run.model.input_shape[1], 32, 34),
    ("imagenet", "data.validation_images", 3, lambda run: run.evaluated,
     [5, 5, 9, 5], [3, 3, 9, 3]),
    ("mlp", "train.batch_size", 24, epoch_ends, [3, 6], [2, 4]),
    ("mlp", "train.epochs", 3, epoch_ends, [3, 6], [3, 6, 9]),
    ("mlp", "train.loss", "constant", lambda run: run.rows[0]["train_loss"], ANY, 1.5),
    ("mlp", "train.label_smoothing", 0.1, smoothing, ANY, 0.05),
    ("cifar", "train.precision", "float32", lambda run: weighted(run)[1].compute_dtype,
     "bfloat16", "float32"),
    ("mlp", "train.optimizer", MUON, lambda run: type(run.learner.optimizer).__name__,
     "SGD", "Muon"),
    ("mlp", "train.sgd_factor", {**MUON, "train.sgd_factor": 3.0}, optimizer("sgd_factor"),
     None, 3.0),
    ("mlp", "train.sgd_decay", {**MUON, "train.sgd_decay": 0.5}, optimizer("sgd_decay"), None, 0.5),
    ("mlp", "train.momentum", 0.5, optimizer("momentum"), 0.9, 0.5),
    ("mlp", "train.nesterov", True, optimizer("nesterov"), False, True),
    ("maxout", "train.momentum_rise", (0.0, 4), optimizer("_rise"), 3, 4),
    ("nin", "train.learning_rate_factors", FACTORS, lambda run: set(run.learner.optimizer._factors),
     {0.1, 0.2, 1.0, 2.0}, {1.0, 2.0}),
    ("mlp", "train.learning_rates", (0.01, 0.02), rates, [0.01] + [0.005] * 5, [0.01] + [0.02] * 5),
    ("mlp", "train.boundaries", (4,), rates, [0.01] + [0.005] * 5, [0.01] * 4 + [0.005] * 2),
    ("mlp", "train.learning_rate_shape",
     {"train.learning_rate_shape": "linear", "train.boundaries": ()}, rates, ANY,
     [0.01 - 0.005 * i / 6 for i in range(6)]),
    ("fmp", "train.learning_rate_shape",
     {"train.learning_rate_shape": "exponential", "train.learning_rates": (0.02, 0.01)}, rates,
     [0.02] * 6, [0.02 * 0.5 ** (i / 6) for i in range(6)]),
    ("mlp", "train.warmup", 0.5, rates, ANY, [0.01 / 3, 0.005 * 2 / 3] + [0.005] * 4),
    ("cifar", "train.phase_boundaries", (1, 5), of_layer("stack2_drop"),
     [0.1, 0.1, 0.2, 0.2, 0.3, 0.3], [0.1] + [0.2] * 4 + [0.3]),
    ("cifar", "train.dropout", ((0.0,) * 7,) * 3, of_layer("stack2_drop"), ANY, [0.0] * 6),
    ("cifar", "train.dropout_placement", ("all",) * 3, of_layer("stack2_conv1_drop"),
     [0.0, 0.0, 0.2, 0.2, 0.0, 0.0], [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]),
    ("dsn", "train.heads_until", 0.0, heads, [True] * 2 + [False] * 4, [False] * 6),
    ("dsn", "train.heads_until", 1.0, heads, ANY, [True] * 6),
    ("finetune", "train.freeze", ("dense1", "dense2"), frozen, 0, 2),
    ("mlp", "train.evaluate_every", 2, evaluated, [1, 2], [2]),
    ("mlp", "train.keep_best", True, entry("kept_step"), None, 3),  # of equal losses, the first
    ("mlp", "train.checkpoint_every", 5, checkpoints, [4, 6], [5, 6]),
    ("mlp", "train.checkpoints_kept", 3, checkpoints, [4, 6], [2, 4, 6]),
]  # fmt: skip


@pytest.fixture(scope="module")
def run_with(tmp_path_factory):
    """A function that runs a base config with changed fields; base runs are made once."""
    root, base_runs = tmp_path_factory.mktemp("images"), {}
    for seed, name in enumerate(("small", "other")):
        small_images.write_splits(root / name, train=6, val=3, side=12 + seed)

    def run(base, entries=()):
        if not entries and base in base_runs:
            return base_runs[base]
        text, shape, fields = BASES[base]
        name, _, arg = text.partition(":")
        config = get_config(name, arg)
        for key, value in {**fields, **dict(entries)}.items():
            section, _, last = key.rpartition(".")
            part = config
            for each in filter(None, section.split(".")):
                part = part[each]
            part[last] = value
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            found = observe(config, tmp_path_factory.mktemp("run"), shape)
        if not entries:
            base_runs[base] = found
        return found

    return run


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_a_field_changes_its_observable(run_with, row):
    base, field, value, observable, before, after = row
    entries = value if isinstance(value, dict) else {field: value}
    first, second = observable(run_with(base)), observable(run_with(base, entries))
    for found, expected in (first, before), (second, after):
        if isinstance(expected, float):
            is_random = observable.__qualname__.startswith("deviation.")
            assert found == pytest.approx(expected, rel=0.2 if is_random else 1e-6)
        elif expected is not ANY:
            assert found == expected
    assert first != second


def test_every_field_of_the_table_and_of_every_config_has_a_row():
    tested = {field for _, field, *_ in ROWS}
    configs = [get_config(name) for name in installed()]
    configs += [
        get_config("table1_baselines", f"net={net},dataset={dataset}")
        for net in NETS
        for dataset in ("cifar10", "cifar100")
    ]
    assert set(FIELDS).union(*map(flat, configs)) <= tested
