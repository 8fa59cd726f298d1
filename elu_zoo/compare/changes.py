"""Configs of a comparison's runs, as changes of the compared config."""

import json
import shlex

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.data import load, order
from elu_zoo.training.fields import flat

_SHORT = 5  # divides the config's epochs in a short comparison


def shortened(config: ConfigDict) -> ConfigDict:
    """Returns a config with a fifth of the epochs, at least one."""
    config = _with_shares(config)
    with config.unlocked():
        config.train.epochs = max(1, config.train.epochs // _SHORT)
    return config


def of_run(
    config: ConfigDict, activation: str, seed: int, factor: float, *, tuning: bool
) -> ConfigDict:
    """Returns the config of one run.

    Args:
        config: the compared config.
        activation: name of the activation, which has its default parameters.
        seed: runs with equal seeds are paired: equal initial weights and data order.
        factor: factor on all learning rates of the schedule.
        tuning: whether this is a tuning run, which does not train on validation images
            and is measured on them instead of on the test images.
    """
    if tuning and config.data.train_on_validation:
        config = _with_shares(config)
    else:
        config = config.copy_and_resolve_references()
    with config.unlocked():
        config.model.activation = ConfigDict({"name": activation, "alpha": None})
        config.seed = seed
        rates = tuple(rate * factor for rate in config.train.learning_rates)
        config.train.learning_rates = rates
        if tuning:
            config.data.train_on_validation = False
            config.data.measure_test = False
    return config


def command(first: str, given: ConfigDict, wanted: ConfigDict) -> str:
    """Returns the command line that trains a run of the config `wanted`.

    Args:
        first: command line that trains a run of the config `given`.
        given: the config of `first`.
        wanted: another config with the same fields.
    """
    old, new = (flat(json.loads(c.to_json_best_effort())) for c in (given, wanted))
    changed = [key for key in new if new[key] != old.get(key) and new[key] is not None]
    flags = []
    for key in changed:
        value = tuple(new[key]) if isinstance(new[key], list) else new[key]
        flags.append(f"--config.{key}={value}")
    return " ".join(filter(None, [first, shlex.join(flags)]))


def _with_shares(config: ConfigDict) -> ConfigDict:
    """Returns the config with boundaries as shares of the run, not iterations."""
    config = config.copy_and_resolve_references()
    keys = [key for key in ("boundaries", "phase_boundaries") if key in config.train]
    counted = [b for key in keys for b in config.train[key] if isinstance(b, int)]
    if not counted:
        return config
    data = config.data
    if data.name not in load.names():
        raise errors.UsageError(
            "A comparison changes the length of runs, so that boundaries of the "
            "schedule must be shares of the run, such as 0.5. Received, in iterations: "
            f"{', '.join(map(str, counted))}."
        )
    all_images = load.training_images(data.name, data.train_on_validation)
    examples = data.train_examples or all_images
    total = order.steps_per_epoch(examples, config.train.batch_size)
    total *= config.train.epochs
    with config.unlocked():
        for key in keys:
            # A boundary after the end is no share: the check names it as it is.
            config.train[key] = tuple(
                b / total if isinstance(b, int) and b < total else b for b in config.train[key]
            )
    return config
