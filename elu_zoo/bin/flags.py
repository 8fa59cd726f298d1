"""The flags that binaries share, and how every binary starts and ends."""

import functools
import importlib
import importlib.util
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import app, flags
from absl import logging as absl_logging

from elu_zoo import errors, quiet
from elu_zoo.bin import config, streams

if TYPE_CHECKING:
    from elu_zoo.weights.pretrained import Pretrained

app.define_help_flags()
_NOT_OURS = frozenset(flags.FLAGS)
_HELP = frozenset(("--help", "-help", "-h", "--helpshort", "-helpshort"))

_SHARED: dict[str, Callable[[], object]] = {
    "config": config.define,
    "data": functools.partial(
        flags.DEFINE_string,
        "data",
        None,
        "A data set's name, of the zoo or of tensorflow-datasets; a folder "
        "<class>/<image>; or an .npz file.",
    ),
    "data_dir": functools.partial(
        flags.DEFINE_string,
        "data_dir",
        None,
        "Folder that tensorflow-datasets prepared; $TFDS_DATA_DIR by default.",
    ),
    "module": functools.partial(
        flags.DEFINE_string,
        "module",
        None,
        "A Python file, or a module's name, that is imported first: it registers "
        "networks or activations of your own.",
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

# Of binaries that take a model with its weights.
OF_MODELS = "model", "weights", "activation", "allow_unverified", "module"

_DEBUG = flags.DEFINE_bool(
    "debug",
    False,
    "Show a traceback with an error, and all that libraries write, with time and file.",
)


def define(*names: str) -> None:
    """Defines shared flags by name, once a process."""
    for name in names:
        if name not in flags.FLAGS:
            _SHARED[name]()


def pretrained() -> "Pretrained | None":
    """Returns what the shared flags name as weights, looked up; None without any."""
    import elu_zoo.models  # noqa: F401  (registers the networks)
    from elu_zoo.weights.pretrained import find

    values = flags.FLAGS
    return find(
        values.model,
        values.weights,
        activation=values.activation,
        allow_unverified=values.allow_unverified,
    )


def no_arguments(argv: list[str]) -> None:
    """Refuses what stands on the command line and is no flag."""
    if len(argv) > 1:
        raise errors.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}.")


def alone(name: str, arguments: list[str]) -> None:
    """Refuses what is given beside a flag that takes no other one."""
    others = sorted(set(flags.FLAGS) - _NOT_OURS - {name, "debug"})
    given = [f"--{other}" for other in others if flags.FLAGS[other].present]
    if given or arguments:
        raise errors.UsageError(
            f"--{name} takes nothing beside it. Received: "
            f"{' '.join([*given, *arguments])}."
        )


def run(
    main: Callable[[list[str]], int | None],
    check: Callable[[list[str]], None],
    *,
    verbose: bool = False,
) -> None:
    """Runs a binary: usage errors in one line and 2, failures 1, resumable 143.

    Args:
        main: takes what is left of the command line after its flags.
        check: takes the same, and refuses what it can without Keras and TensorFlow,
            whose import takes seconds.
        verbose: log what goes on, not warnings alone.
    """
    streams.protect()
    if _HELP & set(sys.argv[1:]):
        print(_help(sys.modules[main.__module__].__doc__))
        sys.exit(0)
    try:
        app.run(functools.partial(_run, main, check, verbose), flags_parser=_parse)
    except errors.EluZooError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        _fail(str(error), errors.ResourceError.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _run(
    main: Callable[[list[str]], int | None],
    check: Callable[[list[str]], None],
    verbose: bool,
    argv: list[str],
) -> int | None:
    absl_logging.set_verbosity(absl_logging.INFO if verbose else absl_logging.WARNING)
    for name in ("tensorflow", "jax", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)
    _check_backend()
    module = "module" in flags.FLAGS and flags.FLAGS.module
    if not module:
        check(argv)
    if not _DEBUG.value:
        quiet.start()  # imports TensorFlow
    if module:
        _import(module)
        check(argv)  # of names that the module registers
    code = main(argv)
    sys.stdout.flush()  # a full disk is an error while it can still be reported
    return code


def _import(module: str) -> None:
    """Imports a module by its name or its file, under the file's name.

    Raises:
        UsageError: there is none, or it raises.
    """
    name = os.path.basename(module).removesuffix(".py")
    is_file = module.endswith(".py")
    if is_file and not os.path.isfile(module):
        raise errors.NotFoundError(f"There is no file {module} (--module).")
    other = getattr(sys.modules.get(name), "__file__", None)
    same = other is not None and os.path.abspath(module) == os.path.abspath(other)
    taken = name in sys.stdlib_module_names or name in sys.modules
    if is_file and taken and not same:
        raise errors.UsageError(
            f"--module={module}: there is another module {name}. Rename the file."
        )
    sys.path.insert(0, "")
    try:
        if is_file:
            specification = importlib.util.spec_from_file_location(name, module)
            sys.modules[name] = found = importlib.util.module_from_spec(specification)
            specification.loader.exec_module(found)
        else:
            importlib.import_module(module)
    except errors.EluZooError:
        raise
    # It is the user's code: whatever it raises is news about that file.
    except (Exception, SystemExit) as error:
        raise errors.UsageError(
            f"--module={module} raises {type(error).__name__}: {error}. --debug shows "
            "where."
        ) from error


def _check_backend() -> None:
    """Checks that Keras' backend is one, and is installed."""
    name = os.environ.get("KERAS_BACKEND") or "tensorflow"
    known = ("tensorflow", "jax", "torch")
    if name not in known:
        raise errors.unknown("KERAS_BACKEND", name, known)
    if importlib.util.find_spec(name) is None:
        remedy = f'pip install "elu-zoo[{name}]"' if name == "jax" else "Install it"
        raise errors.UsageError(
            f"KERAS_BACKEND={name}, but the package {name} is not installed. {remedy}."
        )


def _fail(message: str, exit_code: int) -> None:
    if any(re.fullmatch(r"--?debug(=(true|t|1))?", a) for a in sys.argv):
        traceback.print_exc()
    print("error:", errors.printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(exit_code)


def _parse(argv: list[str]) -> list[str]:
    """Parses flags; what is wrong with them or with the config is a usage error."""
    if "config" in flags.FLAGS:
        argv = config.resolved(argv)
    try:
        return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
        known = [name for name in flags.FLAGS if len(name) > 1]
        hint = errors.did_you_mean(error.flagname, known).replace("'", "'--", 1)
        raise errors.UsageError(
            f"Unknown flag --{error.flagname}. {hint}See --help."
        ) from None
    except (flags.Error, AttributeError, TypeError, ValueError) as error:
        missing = sorted(re.findall(r"Flag (--\w+) must have a value", str(error)))
        message = f"Missing: {', '.join(missing)}. See --help."
        raise errors.UsageError(message if missing else str(error)) from error


def _help(description: str) -> str:
    lines = [description.strip(), "", "Flags:"]
    for name in sorted(set(flags.FLAGS) - _NOT_OURS):
        flag = flags.FLAGS[name]
        default = "" if flag.default in (None, False) else f" Default: {flag.default}."
        lines.append(f"  --{'[no]' * flag.boolean}{name}")
        lines.append(flags.text_wrap(flag.help + default, 80, "      "))
    return "\n".join([*lines, "", "--helpfull lists absl's own flags as well."])
