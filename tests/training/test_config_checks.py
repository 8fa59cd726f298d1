import pytest

from elu_zoo import errors
from elu_zoo.configs import elu_cifar_11, elu_cifar_18
from elu_zoo.training import config_checks

NAN = float("nan")


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("train.batch_size", 0, "train.batch_size is >= 1. Received: 0"),
        ("train.batch_size", -64, "train.batch_size is >= 1. Received: -64"),
        ("train.epochs", 0, "train.epochs is >= 1. Received: 0"),
        ("train.evaluate_every", 0, "train.evaluate_every is >= 1. Received: 0"),
        ("train.checkpoint_every", -1, "train.checkpoint_every is >= 1. .*: -1"),
        ("train.checkpoints_kept", 0, "train.checkpoints_kept is >= 1. .*: 0"),
        ("data.train_examples", -1, "data.train_examples is >= 0, 0 for all.*: -1"),
        ("train.momentum", 1.0, r"train.momentum is in \[0, 1\). Received: 1.0"),
        ("train.momentum", -0.1, r"train.momentum is in \[0, 1\). Received: -0.1"),
        ("train.momentum", NAN, r"train.momentum is in \[0, 1\). Received: nan"),
        ("schedule_epochs", 0, "schedule_epochs is >= 1. Received: 0"),
        ("schedule", "papers", "Unknown schedule 'papers'. Did you mean 'paper'"),
        ("train.loss", "mse", "Unknown loss 'mse'. Known: softmax_cross_entropy"),
        ("train.loss", "", "Unknown loss ''"),
        (
            *("train.precision", "bfloat16_matmul"),
            "Unknown precision 'bfloat16_matmul'. Did you mean 'bfloat16_matmuls'",
        ),
        (
            *("data.augmentation", "pad_crop"),
            "Unknown augmentation of mnist_5k 'pad_crop'. Did you mean 'pad_crop_flip'",
        ),
        ("data.augmentation", "", "of mnist_5k ''. Known: none, pad_crop_flip"),
        ("train.nesterov", True, "train.nesterov needs train.momentum > 0"),
        ("train.precision", "float64", "Unknown precision 'float64'.*Known: float32"),
        ("model.name", "mnist_mlp", "Unknown model 'mnist_mlp'. Did you mean"),
    ],
)
def test_refusals(smoke, key, value, words):
    with pytest.raises(errors.UsageError, match=words) as caught:
        config_checks.check(smoke({key: value}))
    assert caught.value.exit_code == 2


OF_LABELS = ("softmax_cross_entropy", "squared_hinge")
OF_IMAGES = ("sigmoid_cross_entropy", "half_squared_error")


@pytest.mark.parametrize(
    "model, gives, fitting, other",
    [
        ("mnist_mlp_8x128", "classes", OF_LABELS, OF_IMAGES),
        ("mnist_mlp_5x256", "classes", OF_LABELS, OF_IMAGES),
        ("mnist_autoencoder", "images", OF_IMAGES, OF_LABELS),
    ],
)
def test_loss_fits_the_model(smoke, model, gives, fitting, other):
    for loss in fitting:
        config_checks.check(smoke({"model.name": model, "train.loss": loss}))
    for loss in other:
        words = (
            f"train.loss {loss} does not fit {model}, which gives {gives}. "
            f"Use {' or '.join(fitting)}."
        )
        with pytest.raises(errors.UsageError) as caught:
            config_checks.check(smoke({"model.name": model, "train.loss": loss}))
        assert str(caught.value) == words


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda c: c.__delitem__("schedule"), "has no entry schedule"),
        (lambda c: c.train.__delitem__("loss"), "has no entry train.loss"),
        (lambda c: c.train.__delitem__("precision"), "has no entry train.precision"),
        (lambda c: c.train.update(precison="float32"), "'train.precision'"),
        (lambda c: c.update(precision="float32"), "Unknown config entry 'precision'"),
        (lambda c: c.__delitem__("data"), "no entry data.augmentation, data.cutout"),
        (lambda c: c.train.update(epoch=1), "'train.epoch'. .*'train.epochs'"),
        (lambda c: c.update(speed=1), "Unknown config entry 'speed'"),
        (lambda c: c.update(seed=None), "has no entry seed"),
        (lambda c: c.__setitem__("train", 3), "has no entry train.batch_size"),
    ],
)
def test_entries_missing_or_unknown(smoke, change, words):
    config = smoke().unlock()
    with config.ignore_type():
        change(config)
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(config)


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("train.epochs", 2.5, "train.epochs is of type int. Received: 2.5 .* float"),
        ("train.epochs", True, "of type int. Received: True of type bool"),
        ("train.momentum", "x", "train.momentum is of type float. Received: 'x'"),
        ("model.batch_norm", 1, "model.batch_norm is of type bool. Received: 1"),
        ("model.activation", "elu", "model.activation is of type ConfigDict"),
        ("train.learning_rates", 0.1, "learning_rates is of type tuple"),
        ("name", 3, "name is of type str"),
        ("train.precision", 32, "train.precision is of type str. Received: 32"),
        ("train.nesterov", 1, "train.nesterov is of type bool. Received: 1"),
        ("train.learning_rate_shape", 1, "learning_rate_shape is of type str"),
        ("data.augmentation", True, "data.augmentation is of type str"),
        ("data.train_on_validation", 0, "train_on_validation is of type bool"),
    ],
)
def test_entries_of_another_type(smoke, key, value, words):
    config = smoke().unlock()
    *sections, last = key.split(".")
    with config.ignore_type():
        (config[sections[0]] if sections else config)[last] = value
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(config)


@pytest.mark.parametrize("module", [elu_cifar_11, elu_cifar_18])
@pytest.mark.parametrize(
    "key, value, words",
    [
        ("train.dropout", None, "The config has no entry train.dropout."),
        ("train.dropout_placement", None, "no entry train.dropout_placement"),
        ("train.phase_boundaries", None, "no entry train.phase_boundaries"),
        ("train.dropout", 0.5, "train.dropout is of type tuple. Received: 0.5"),
        ("train.dropout_placement", "all", "dropout_placement is of type tuple"),
        ("train.phase_boundaries", 8, "phase_boundaries is of type tuple. .*: 8"),
        ("model.padding", 1, "model.padding is of type str. Received: 1 of type int"),
        ("model.kernel_decay", "x", "model.kernel_decay is of type float. .*: 'x'"),
        ("model.init_scale", (1.0,), "model.init_scale is of type float"),
        ("model.paddin", "same", "entry 'model.paddin'. Did you mean 'model.padding'"),
        ("model.dropout", (0.5,), "Unknown config entry 'model.dropout'"),
        ("model.conv_dtype", "bfloat16", "Unknown config entry 'model.conv_dtype'"),
        ("model.num_classes", 7, "Unknown config entry 'model.num_classes'"),
        ("model.seed", 7, "Unknown config entry 'model.seed'"),
    ],
)
def test_entries_of_networks_with_dropout(module, key, value, words):
    config = module.get_config("smoke=True").unlock()
    config_checks.check(config)
    section, last = key.split(".")
    with config.ignore_type():
        config[section][last] = value
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(config)


def test_an_unknown_entry_is_told_each_known_one_once():
    config = elu_cifar_11.get_config().unlock()
    config.model.paddings = "same"
    with pytest.raises(errors.UsageError) as caught:
        config_checks.check(config)
    known = str(caught.value).partition("Known: ")[2].rstrip(".").split(", ")
    assert len(known) == len(set(known)) == 47
    assert {"model.init_scale", "train.dropout", "seed"} < set(known)


@pytest.mark.parametrize("key", ["padding", "kernel_decay", "init_scale"])
def test_a_builders_own_argument_may_be_left_out(key):
    config = elu_cifar_11.get_config("smoke=True").unlock()
    del config.model[key]
    config_checks.check(config)


@pytest.mark.parametrize(
    "key, value",
    [
        ("train.dropout", ((0.1,),)),
        ("train.dropout_placement", ("last",)),
        ("train.phase_boundaries", ()),
        ("model.padding", "same"),
        ("model.kernel_decay", 0.1),
    ],
)
def test_entries_of_dropout_and_stacks_for_another_network(smoke, key, value):
    config = smoke().unlock()
    section, last = key.split(".")
    config[section][last] = value
    with pytest.raises(errors.UsageError, match=f"Unknown config entry '{key}'"):
        config_checks.check(config)


@pytest.mark.parametrize("name", [3, None, "elu_cifar"])
def test_name_of_the_network_is_checked_before_its_entries(name):
    config = elu_cifar_11.get_config("smoke=True").unlock()
    with config.ignore_type():
        config.model.name = name
    words = "Unknown model 'elu_cifar'. Did you mean 'elu_cifar_1|model.name"
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check(config)


def test_phases_past_the_end_of_the_run():
    config = elu_cifar_18.get_config("smoke=True")
    config_checks.check_run(config, 15, 1)
    words = "train.phase_boundaries increases, within the run's 14 iterations"
    with pytest.raises(errors.UsageError, match=words):
        config_checks.check_run(config, 14, 1)


def test_straight_lines_are_checked_as_such(smoke):
    lines = {"train.learning_rate_shape": "linear", "train.learning_rates": (0.1, 0.0)}
    config_checks.check_run(smoke(lines), 10, 1)
    with pytest.raises(errors.UsageError, match="one entry more"):
        config_checks.check_run(
            smoke({**lines, "train.learning_rate_shape": "steps"}), 9, 1
        )


def test_a_whole_number_is_a_float(smoke):
    config = smoke()
    with config.ignore_type():
        config.train.momentum = 0
    config_checks.check(config)


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"train.momentum": 0.0},
        {"train.momentum": 0.999},
        {"train.momentum": 0.001, "train.nesterov": True},
        {"data.augmentation": "pad_crop_flip", "data.train_on_validation": True},
        {"train.precision": "bfloat16_conv"},
        {"data.train_examples": 0},
        {"schedule": "paper"},
        {"train.precision": "float32"},
        {"train.precision": "bfloat16_matmuls"},
        {"train.precision": "mixed_bfloat16"},
        {"train.batch_size": 1, "train.epochs": 1, "train.checkpoints_kept": 1},
    ],
)
def test_accepts(smoke, entries):
    config_checks.check(smoke(entries))


@pytest.mark.parametrize(
    "size, replicas, words",
    [
        (65, 2, "a multiple of 2: 2 replicas. Received: 65; take 64 or 66"),
        (64, 3, "3 replicas. Received: 64; take 63 or 66"),
        (1, 2, "2 replicas. Received: 1; take 2"),
        (7, 8, "8 replicas. Received: 7; take 8"),
    ],
)
def test_batch_that_replicas_cannot_share(smoke, size, replicas, words):
    with pytest.raises(errors.UsageError, match=words + r"\.$"):
        config_checks.check_run(smoke({"train.batch_size": size}), 100, replicas)


def test_schedule_past_the_end_of_the_run(smoke):
    entries = {"train.boundaries": (100,), "train.learning_rates": (0.1, 0.01)}
    config_checks.check_run(smoke(entries), 101, 2)
    with pytest.raises(errors.UsageError, match="train.boundaries .* 100 iterations"):
        config_checks.check_run(smoke(entries), 100, 2)
