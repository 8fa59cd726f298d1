"""Specs of a comparison's runs."""

import numbers
from collections.abc import Mapping

from ml_collections import ConfigDict

from elu_zoo import errors
from elu_zoo.compare.config import TUNING_SEED, ComparisonConfig
from elu_zoo.pairs.spec import Trial, changed_flags
from elu_zoo.training import schedules
from elu_zoo.training.fields import get

_SHORT = 5  # divides the config's epochs in a short comparison
# Share of a run, equal for all activations: high rates that diverge from the start without a
# warm-up may be the best ones with it.
WARMUP = 0.02


def shortened(config: ConfigDict) -> ConfigDict:
    """Returns a config with a fifth of the epochs, at least one."""
    config = _with_shares(config)
    config.train.epochs = max(1, config.train.epochs // _SHORT)
    return config


def create(comparison: ComparisonConfig, activation: str, factor: float, seed: int) -> Trial:
    """Returns the spec of one run; a run with a tuning seed reads no test images."""
    base = _with_warmup(comparison.config)
    if seed >= TUNING_SEED:
        base = _without_test_images(base)
    return Trial(
        config=base.name,
        arguments="",
        budget="full",
        activation=activation,
        seed=seed,
        factor=factor,
        base=base,
        base_command=f"{comparison.train_command} {changed_flags(comparison.config, base)}".strip(),
        code=comparison.codes.get(activation, ""),
        images=comparison.images,
    )


def paired(comparison: ComparisonConfig, factors: Mapping[str, float]) -> list[Trial]:
    """Returns the specs of paired runs, pair by pair, at a factor for each activation."""
    first = comparison.config.seed
    return [
        create(comparison, name, factor, seed)
        for seed in range(first, first + comparison.seeds)
        for name, factor in factors.items()
    ]


def _with_warmup(config: ConfigDict) -> ConfigDict:
    """Returns a config with a warm-up, its own if it has one."""
    is_line = get(config, "train.learning_rate_shape") == "linear"
    config = config.copy_and_resolve_references()
    if not get(config, "train.warmup") and not (is_line and config.train.learning_rates[0] == 0):
        with config.unlocked():
            config.train.warmup = WARMUP
    return config


def _without_test_images(config: ConfigDict) -> ConfigDict:
    """Returns a config that does not train on validation images, but measures them."""
    shared = config.data.train_on_validation
    config = _with_shares(config) if shared else config.copy_and_resolve_references()
    config.data.train_on_validation = False
    config.data.measure_test = False
    return config


def _with_shares(config: ConfigDict) -> ConfigDict:
    """Returns the config with boundaries as shares of the run, not iterations."""
    config = config.copy_and_resolve_references()
    schedules.use_shares(config)
    boundaries = *get(config, "train.boundaries"), *get(config, "train.phase_boundaries")
    counted = [str(b) for b in boundaries if isinstance(b, numbers.Integral)]
    if counted:
        raise errors.UsageError(
            "A comparison changes the length of runs, so that boundaries of the schedule must be "
            f"shares of the run, such as 0.5. Received, in iterations: {', '.join(counted)}."
        )
    return config
