"""The flags that binaries share, and how every binary starts and ends."""

import functools
import importlib
import logging
import os
import runpy
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from absl import app, flags
from ml_collections import config_flags

from elu_zoo import errors

_SHARED: dict[str, Callable[[], object]] = {
    "data_dir": functools.partial(
        flags.DEFINE_string,
        "data_dir",
        None,
        "Folder that tensorflow-datasets prepared; $TFDS_DATA_DIR by default.",
    ),
    "model": functools.partial(
        flags.DEFINE_string, "model", None, "Name of a model, see list_models()."
    ),
    "weights": functools.partial(
        flags.DEFINE_string,
        "weights",
        None,
        "A data set's name, a tag of list_weights(), a .weights.h5 file, or the "
        "folder of a finished training run.",
    ),
    "activation": functools.partial(
        flags.DEFINE_string,
        "activation",
        None,
        "Activation by name; picks the file where --weights names a data set.",
    ),
    "allow_unverified": functools.partial(
        flags.DEFINE_bool,
        "allow_unverified",
        False,
        "Load a weight file that has no entry beside it.",
    ),
}

_DEBUG = flags.DEFINE_bool("debug", False, "Show a traceback with an error.")


def define(*names: str) -> None:
    """Defines shared flags by name, once a process."""
    for name in names:
        if name not in flags.FLAGS:
            _SHARED[name]()


def weights_arguments() -> dict[str, object]:
    """Returns the arguments of `get_model` that the shared flags hold."""
    values = flags.FLAGS
    return {
        "weights": values.weights,
        "activation": values.activation,
        "allow_unverified": values.allow_unverified,
    }


def define_config() -> None:
    """Defines --config, a path or the bare name of an installed config."""
    config_flags.DEFINE_config_file(
        "config",
        None,
        "Path, or name of an installed config, with arguments: "
        "mnist_mlp_8x128:activation=relu,seed=3. Override any entry by "
        "--config.train.batch_size=50.",
        lock_config=True,
    )
    flags.mark_flag_as_required("config")


def run(main: Callable[[list[str]], int | None]) -> None:
    """Runs a binary: usage errors in one line and 2, failures 1, resumable 143."""
    # TensorFlow's C++ notes on the CPU are no news to whoever runs a binary.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("tensorflow").setLevel(logging.WARNING)
    sys.argv = [sys.argv[0], *map(_installed_config, _joined(sys.argv[1:]))]
    try:
        app.run(functools.partial(_guarded, main), flags_parser=_parse)
    except errors.EluZooError as error:
        _fail(error)


def _guarded(main: Callable[[list[str]], int | None], argv: list[str]) -> int | None:
    try:
        return main(argv)
    except errors.EluZooError as error:
        if _DEBUG.value:
            raise
        _fail(error)


def _fail(error: errors.EluZooError) -> None:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)


def _parse(argv: list[str]) -> list[str]:
    """Parses flags; what is wrong with them or with the config is a usage error."""
    try:
        return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
        known = [name for name in flags.FLAGS if len(name) > 1]
        hint = errors.did_you_mean(error.flagname, known)
        raise errors.UsageError(
            f"Unknown flag --{error.flagname}. {hint}See --help."
        ) from None
    except AttributeError as error:
        raise _unknown_key(argv) from error
    except (flags.Error, TypeError, ValueError, OSError) as error:
        raise _own_cause(error) from error


def _own_cause(error: BaseException) -> errors.UsageError:
    """The error that a config raised, from under those that the parsers put on it."""
    own, cause = None, error
    while cause:
        own = cause if isinstance(cause, errors.UsageError) else own
        cause = cause.__context__
    return own or errors.UsageError(" ".join(str(error).split()))


def _unknown_key(argv: list[str]) -> errors.UsageError:
    """The error for the first `--config.a.b` that the config lacks."""
    values = dict(a.lstrip("-").partition("=")[::2] for a in argv[1:])
    path, _, arg = values["config"].partition(":")
    known = list(_keys(runpy.run_path(path)["get_config"](arg)))
    overrides = [k.removeprefix("config.") for k in values if k.startswith("config.")]
    return next(
        errors.unknown("config entry", key, known)
        for key in overrides
        if key not in known
    )


def _keys(config, prefix: str = ""):
    for key in config:
        value = config.get(key)
        if hasattr(value, "keys"):
            yield from _keys(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def _joined(arguments: list[str]) -> list[str]:
    """Turns `--config x` into `--config=x`."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--config", "-config"):
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


def _installed_config(argument: str) -> str:
    flag, separator, value = argument.partition("=")
    if flag.lstrip("-") != "config" or not separator:
        return argument
    name, colon, rest = value.partition(":")
    if name.endswith(".py") or os.sep in name:
        if not Path(name).is_file():
            _fail(errors.NotFoundError(f"There is no config file {name}."))
        return argument
    installed = resources.files(importlib.import_module("elu_zoo.configs"))
    path = installed.joinpath(f"{name}.py")
    if not path.is_file():
        known = sorted(
            p.name.removesuffix(".py")
            for p in installed.iterdir()
            if p.name.endswith(".py") and p.name not in ("__init__.py", "arguments.py")
        )
        _fail(errors.unknown("config", name, known))
    return f"{flag}={path}{colon}{rest}"
