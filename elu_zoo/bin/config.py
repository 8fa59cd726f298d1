"""The flag --config: the path of a config, or the name of an installed config."""

import contextlib
import os
import re
import runpy
import shlex
from collections.abc import Collection
from importlib import resources
from pathlib import Path

from absl import flags
from ml_collections import ConfigDict, config_flags

from elu_zoo import errors
from elu_zoo.configs.arguments import field_names
from elu_zoo.training import fields

_NOT_CONFIGS = ("__init__", "arguments", "common")


def define() -> None:
    """Defines --config, and --config.<entry> for each entry of the config."""
    config_flags.DEFINE_config_file(
        "config",
        None,
        "Path, or name of an installed config, with arguments: mnist_mlp_8x128:activation=relu. "
        f"Override its entries: --config.train.batch_size=50. Installed: {', '.join(installed())}. "
        f"Possible entries:\n{fields.help_text()}",
        lock_config=True,
    )
    flags.mark_flag_as_required("config")


def installed() -> list[str]:
    """Returns the names of the configs in the package."""
    names = (path.stem for path in _folder().glob("*.py"))
    return sorted(name for name in names if name not in _NOT_CONFIGS)


def resolve_flag(argv: list[str]) -> list[str]:
    """Returns `argv` with the name of the config in --config replaced by its path.

    The config is loaded here before absl loads it, because absl hides the causes of two
    errors: exceptions of the config, and overrides of unknown entries.
    """
    argv = list(argv)
    for flag in {"--config", "-config"} & set(argv[:-1]):
        i = argv.index(flag)
        argv[i : i + 2] = [f"--config={argv[i + 1]}"]
    names = [_flag_name(argument) for argument in argv]
    at = names.index("config") if "config" in names else 0
    value = argv[at].partition("=")[2]
    if not at or not value:
        for name in names:
            if name and name.partition(".")[0] not in flags.FLAGS:
                raise errors.unknown_name_error("flag", f"--{name}", ["--config"])
        raise errors.UsageError(
            "--config is missing. Set it to the path of a config, or to one of "
            f"{', '.join(installed())}."
        )
    if names.count("config") > 1:
        given = [argument for argument, name in zip(argv, names, strict=True) if name == "config"]
        raise errors.UsageError(f"--config must be set once. Received: {' and '.join(given)}.")
    name, _, arguments = value.partition(":")
    path = _path(name)
    entries = list(field_names(_load(path, arguments)))
    for name in names:
        if name.startswith(("config.", "noconfig.")):
            _check_entry(name.partition(".")[2], entries)
        if name.startswith("noconfig."):
            raise errors.UsageError(f"Set --{name.removeprefix('no')}=... instead of --{name}.")
    argv[at] = f"--config={path}:{arguments}"
    return argv


def _flag_name(argument: str) -> str:
    """Returns the name of a flag, or "" for any other argument."""
    return argument.lstrip("-").partition("=")[0] if argument.startswith("-") else ""


def _check_entry(key: str, known: Collection[str]) -> None:
    """Checks that an override sets one whole entry, which is no label of a schedule."""
    entry = key.partition("[")[0]
    members = [other for other in known if other == entry or other.startswith(f"{entry}.")]
    if not members and entry in fields.types(None):
        raise errors.UsageError(
            f"This config has no entry {entry}. Add it to a copy of the config's file, and set "
            "--config to the path of the copy."
        )
    if not members:
        raise errors.unknown_name_error("config entry", entry, known)
    if members != [key]:
        raise errors.UsageError(
            f"--config.{key} does not set one whole entry. Set "
            f"--config.{'=..., --config.'.join(members)}=..."
        )
    if key in ("schedule", "schedule_epochs"):
        example = "--config=elu_cifar_11:schedule=quick"
        raise errors.UsageError(f"--config.{key} is only a label. Use an argument: {example}.")


def command(program: str, argv: list[str], names: Collection[str] = ()) -> str:
    """Returns a command line with the flags of `argv` that decide a program's numbers.

    These are --config and its overrides, --data, --module and `names`.
    """
    words, name = [program], ""
    for argument in argv[1:]:
        name = _flag_name(argument) or name
        if name in ("config", "data", "module", *names) or name.startswith("config."):
            words.append(argument)
    return shlex.join(words)


def usual(flag: flags.Flag, *more: str) -> ConfigDict:
    """Returns the config of the flag --config with more arguments, and without overrides."""
    path, _, arguments = config_flags.get_config_filename(flag).partition(":")
    return _load(Path(path), ",".join(filter(None, [arguments, *more])))


def smoke(flag: flags.Flag) -> ConfigDict:
    """Returns the config of the flag --config in its smoke variant, with overrides."""
    config = ConfigDict()
    with contextlib.suppress(errors.UsageError):  # unknown argument
        config = usual(flag, "smoke=True")
    if not config.get("smoke"):
        raise errors.UsageError(
            "--budget=smoke needs a config with the argument smoke. Use --budget=short."
        )
    config.update_from_flattened_dict(config_flags.get_override_values(flag))
    return config


def default_workdir(config: ConfigDict) -> Path:
    """Returns runs/<config>/<activation>[_bn]-s<seed>[-smoke]."""
    variant = config.model.activation.name + ("_bn" if config.model.batch_norm else "")
    run = f"{variant}-s{config.seed}" + ("-smoke" if config.smoke else "")
    return Path("runs") / config.name / run


def with_data(config: ConfigDict, data: str | None, usual: ConfigDict | None = None) -> ConfigDict:
    """Changes `config` to train on `data` unless it is None, and returns `config`.

    The name becomes `<config>@<data>`. Boundaries in iterations, with `usual` those that it
    has too, become shares of its run.
    """
    from elu_zoo.data import load
    from elu_zoo.training import schedules

    name, section = config.get("name"), config.get("data")
    if isinstance(name, str) and (not name or os.path.isabs(name) or ".." in name.split(os.sep)):
        raise errors.UsageError(
            'The config entry name must be a relative path without "..", because it is '
            f"part of the path runs/<name>/. Received: {name!r}."
        )
    has_names = isinstance(section, ConfigDict) and "name" in section
    if data is None or not (has_names and isinstance(name, str)):
        return config  # `resolve` refuses a config without these names
    if data and (stripped := data.rstrip(os.sep) or os.sep) not in (*load.names(), load.IMAGENET):
        data = stripped  # photos/ and photos make equal configs; cifar10/ is a folder
    with contextlib.suppress(AttributeError, TypeError):  # `resolve` refuses such a config
        schedules.use_shares(config, usual)
    config.name += "@" + re.sub(r"\W+", "_", os.path.basename(data.rstrip(os.sep)))
    if "folder" in config.data and data != config.data.name:
        config.data.folder = data
    else:
        config.data.name = data
    return config


def _folder() -> Path:
    return Path(str(resources.files("elu_zoo.configs")))


def _path(name: str) -> Path:
    if name.endswith(".py") or os.sep in name:
        path = Path(name).expanduser()
        if not path.is_file():
            raise errors.NotFoundError(f"There is no config file {name}.")
        return path
    errors.check_choice("config", name, installed())
    return _folder() / f"{name}.py"


def _load(path: Path, arguments: str) -> ConfigDict:
    try:
        # ml_collections runs the file again, under this name.
        get_config = runpy.run_path(str(path), run_name="config_config").get("get_config")
        config = get_config(arguments) if get_config else None
    except errors.EluZooError:
        raise
    # The user's config may raise any exception.
    except Exception as error:
        raise errors.UsageError(
            f"The config {path} raises {type(error).__name__}: {error}. Set --debug to "
            "see the traceback."
        ) from error
    if not isinstance(config, ConfigDict):
        raise errors.UsageError(
            f"The config {path} must have a function get_config(arguments) that "
            "returns an ml_collections.ConfigDict."
        )
    return config
