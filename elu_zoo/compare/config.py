"""Config of a comparison: which activations, on which config, in how many runs."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from ml_collections import ConfigDict

from elu_zoo import activations, errors, files, registry
from elu_zoo.activations import table
from elu_zoo.data import load
from elu_zoo.pairs.spec import code_hash
from elu_zoo.training import build, fields
from elu_zoo.training.config import resolve

TUNING_SEED = 10_000  # the first one, above all seeds of paired runs


@dataclasses.dataclass(frozen=True)
class ComparisonConfig:
    """Request of a comparison: the config, the activations and the numbers of runs.

    Attributes:
        config: the compared config.
        command: the command line of the comparison.
        train_command: command line that trains a run of the config.
        activations: different names; the first is the reference.
        seeds: number of runs of each activation at one rate, from the config's seed on.
        tune: largest number of learning rates to try with each activation; 1: no tuning.
        output: folder of tables, figures, report and runs.
        data_dir: see `load.load`.
        module: a user's file or module that registers activations, see `user_module`.
        codes: hashes of the user's code, by activation, see `with_own_files`.
        images: name with a hash of the user's images.
    """

    config: ConfigDict
    command: str
    train_command: str
    activations: Sequence[str]
    seeds: int
    tune: int
    output: Path
    data_dir: str | None = None
    module: str | None = None
    codes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    images: str = ""

    @property
    def reference(self) -> str:
        """The activation with which the others are compared."""
        return self.activations[0]

    @property
    def split(self) -> str:
        """Split of the images on which runs are compared: `test` or `validation`."""
        return "test" if self.config.data.measure_test else "validation"


def check(comparison: ComparisonConfig) -> ComparisonConfig:
    """Returns the comparison with canonical names, after checks that need no training.

    Its config gets every field, because runs change fields that a user's config may lack.
    """
    errors.check_integer("--seeds", comparison.seeds, minimum=1)
    errors.check_integer("--tune", comparison.tune, minimum=1)
    config = comparison.config
    with config.unlocked():
        fields.complete(config)
    if config.seed + comparison.seeds > TUNING_SEED:
        raise errors.UsageError(f"Set a lower seed or --seeds: tuning has seeds >= {TUNING_SEED}.")
    parameters = {k: v for k, v in config.model.activation.items() if k != "name" and v is not None}
    if parameters:
        raise errors.UsageError(
            "Activations are compared with their own default parameters. Remove those of "
            "config.model.activation, or register an activation with other ones (--module). "
            f"Received: {parameters}."
        )
    if config.model.get("weights"):
        raise errors.UsageError(
            "Runs of a comparison start from equal weights, but trained weights belong "
            "to one activation. Set config.model.weights to '' (in the config "
            f"finetune, weights=none). Received: {config.model.weights}."
        )
    if comparison.tune > 1 and config.data.name == load.IMAGENET:
        raise errors.UsageError(
            "Learning rates are tuned on validation images, and the validation images "
            f"of {config.data.name} are test images. Use --tune=1 or another data set."
        )
    if comparison.split == "validation" and (comparison.tune > 1 or config.train.keep_best):
        raise errors.UsageError(
            "Learning rates are tuned, and train.keep_best chooses weights, on validation images, "
            "on which this config (data.measure_test=False) also compares the runs. Use --tune=1 "
            "and --config.train.keep_best=False, or measure the test images."
        )
    errors.check_packages("A comparison", ("scipy", "pandas", "matplotlib"), "paper")
    files.check_writable(comparison.output)
    activations.describe(config.model.activation.name or "elu")  # unused, but perhaps misspelt
    # `describe` replaces other names of an activation: srelu is shifted_relu.
    names = [activations.describe(name)["name"] for name in comparison.activations]
    for name in names:
        if names.count(name) > 1:
            raise errors.UsageError(f"--activations names {name} twice.")
    if len(names) < 2:
        raise errors.UsageError(
            "--activations must be two or more names, the reference first: elu,relu. "
            f"Received: {','.join(names) or 'none'}."
        )
    return dataclasses.replace(comparison, activations=tuple(names))


def with_own_files(comparison: ComparisonConfig) -> ComparisonConfig:
    """Returns the comparison with `codes` and `images`, by which runs of other files differ."""
    config, codes, images = comparison.config, {}, ""
    is_ours = registry.entry(config.model.name).builder.__module__.startswith("elu_zoo.")
    for name in comparison.activations:
        if comparison.module and not (is_ours and name in table.BUILT_IN):
            model = config.model.copy_and_resolve_references()
            model.activation.name = name
            codes[name] = code_hash(comparison.module, model)
    if load.is_own(config.data.name, config.data.get("folder", "")):
        images = build.load_data(resolve(config), comparison.data_dir).fingerprint
    return dataclasses.replace(comparison, codes=codes, images=images)
