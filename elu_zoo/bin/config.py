"""The flag --config: a path, or the bare name of an installed config."""

import importlib
import os
import re
import runpy
import shlex
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from absl import flags
from ml_collections import ConfigDict, config_flags

from elu_zoo import errors

_NOT_CONFIGS = ("__init__", "arguments", "common")


def define() -> None:
    """Defines --config, whose entries --config.<entry>=<value> override."""
    config_flags.DEFINE_config_file(
        "config",
        None,
        "Path, or name of an installed config, with arguments: "
        "mnist_mlp_8x128:activation=relu,seed=3. Override any entry by "
        "--config.train.batch_size=50. Installed: " + ", ".join(installed()) + ".",
        lock_config=True,
    )
    flags.mark_flag_as_required("config")


def installed() -> list[str]:
    """Returns the names of the configs that the package carries."""
    names = (path.name.removesuffix(".py") for path in _folder().glob("*.py"))
    return sorted(name for name in names if name not in _NOT_CONFIGS)


def resolved(argv: list[str]) -> list[str]:
    """Returns `argv` with the path of its config, after loading it once.

    absl's parser hides what a config raises, and its unknown entries, behind errors
    of its own; here they have their own words.

    Raises:
        UsageError: --config is missing, names no config or one that does not load,
            or an override is of no entry of it.
    """
    argv = _joined(argv)
    values = dict(a.lstrip("-").partition("=")[::2] for a in argv[1:] if a[:1] == "-")
    if not values.get("config"):
        unknown = [key for key in values if key.partition(".")[0] not in flags.FLAGS]
        for key in unknown:
            raise errors.unknown("flag", f"--{key}", ["--config"])
        raise errors.UsageError(
            "--config is missing: the path of a config, or one of "
            f"{', '.join(installed())}."
        )
    is_config = [a.lstrip("-").partition("=")[0] == "config" for a in argv]
    if sum(is_config) > 1:
        given = " and ".join(a for a, c in zip(argv, is_config, strict=True) if c)
        raise errors.UsageError(f"--config is given once. Received: {given}.")
    name, colon, arguments = values["config"].partition(":")
    path = _path(name)
    config = _load(path, arguments)
    known = list(_entries(config))
    for key in values:
        entry = key.removeprefix("config.").partition("[")[0]
        within = any(f"{other}.".startswith(f"{entry}.") for other in known)
        if key.startswith("config.") and not within:
            raise errors.unknown("config entry", entry, known)
        if key.startswith("config."):
            _check_index(config, key.removeprefix("config."))
    flag = f"--config={path}{colon}{arguments}"
    return [flag if c else a for a, c in zip(argv, is_config, strict=True)]


def command(argv: list[str]) -> str:
    """Returns the part of a command line that decides the numbers of a run."""
    words, name = ["elu-zoo-train"], ""
    for argument in argv[1:]:
        is_flag = argument.startswith("-")
        name = argument.lstrip("-").partition("=")[0] if is_flag else name
        if name in ("config", "data", "module") or name.startswith("config."):
            words.append(argument)
    return shlex.join(words)


def _check_index(config: ConfigDict, key: str) -> None:
    """Refuses `entry[9]` where the entry has no such item."""
    entry, bracket, _ = key.partition("[")
    if not bracket:
        return
    value = config
    for part in entry.split("."):
        value = value[part]
    count = len(value) if isinstance(value, tuple | list) else 0
    items = [f"{entry}[{i}]" for i in range(count)]
    if key not in items:
        raise errors.unknown("config entry", key, items or [entry])


def default_workdir(config: ConfigDict) -> Path:
    """Returns runs/<config>/<activation>[_bn]-s<seed>[-smoke]."""
    variant = config.model.activation.name + "_bn" * config.model.batch_norm
    run = f"{variant}-s{config.seed}" + "-smoke" * config.smoke
    return Path("runs") / config.name / run


def with_data(config: ConfigDict, data: str | None) -> ConfigDict:
    """Returns a config that trains on other data, under the name `<config>@<data>`.

    What its schedule says in iterations becomes shares of the run, which may be as long
    as it likes.

    Raises:
        UsageError: the config's name is no folder within another.
    """
    name = config.get("name", "config")
    if isinstance(name, str) and (
        not name or os.path.isabs(name) or ".." in name.split(os.sep)
    ):
        raise errors.UsageError(
            "The config entry name is part of a path, runs/<name>/, and stays within "
            f"it. Received: {name!r}."
        )
    if data is None:
        return config
    if os.path.isdir(data):
        data = data.rstrip(os.sep) or os.sep  # one folder is one config
    _share_boundaries(config)
    name = re.sub(r"\W+", "_", data.rstrip(os.sep).rpartition(os.sep)[2])
    config.name += f"@{name}"
    if "folder" in config.data and data != config.data.name:
        config.data.folder = data
    else:
        config.data.name = data
    return config


def _share_boundaries(config: ConfigDict) -> None:
    from elu_zoo.data import load

    if config.data.name not in load.names():
        return
    examples = config.data.train_examples or load.training_images(
        config.data.name, config.data.train_on_validation
    )
    total = examples // config.train.batch_size * config.train.epochs
    for key in ("boundaries", "phase_boundaries"):
        if key in config.train:
            config.train[key] = tuple(
                b / total if isinstance(b, int) else b for b in config.train[key]
            )


def _joined(argv: list[str]) -> list[str]:
    """Turns `--config x` into `--config=x`."""
    joined: list[str] = []
    for argument in argv:
        if joined and joined[-1] in ("--config", "-config"):
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


def _folder() -> Path:
    configs = importlib.import_module("elu_zoo.configs")
    return Path(str(resources.files(configs)))


def _path(name: str) -> Path:
    if name.endswith(".py") or os.sep in name:
        if not Path(name).is_file():
            raise errors.NotFoundError(f"There is no config file {name}.")
        return Path(name)
    if name not in installed():
        raise errors.unknown("config", name, installed())
    return _folder() / f"{name}.py"


def _load(path: Path, arguments: str) -> ConfigDict:
    try:
        get_config = runpy.run_path(str(path)).get("get_config")
        config = get_config(arguments) if get_config else None
    except errors.EluZooError:
        raise
    # A config is the user's code: whatever it raises is news about that file.
    except Exception as error:
        raise errors.UsageError(
            f"The config {path} raises {type(error).__name__}: {error}. --debug shows "
            "where."
        ) from error
    if not isinstance(config, ConfigDict):
        raise errors.UsageError(
            f"The config {path} needs a function get_config(arguments) that returns a "
            "ml_collections.ConfigDict."
        )
    return config


def _entries(config: ConfigDict, prefix: str = "") -> Iterator[str]:
    for key in config:
        value = config.get(key)
        if isinstance(value, ConfigDict):
            yield from _entries(value, f"{prefix}{key}.")
        else:
            yield prefix + key
