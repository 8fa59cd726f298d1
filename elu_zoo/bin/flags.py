"""Shared flags, and the start and end of every binary."""

import functools
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING, Any

from absl import app, flags
from absl import logging as absl_logging

from elu_zoo import errors, keras_registration, quiet, user_module
from elu_zoo.bin import config, streams

if TYPE_CHECKING:
    from elu_zoo.weights.pretrained import Pretrained

app.define_help_flags()
_ABSL_FLAGS = frozenset(flags.FLAGS)
_HELP = frozenset(("--help", "-help", "-h", "--helpshort", "-helpshort"))

_STRINGS = {
    "data": "A data set's name, of the zoo or of tensorflow-datasets; a folder "
    "<class>/<image>; or an .npz file.",
    "data_dir": "Folder that tensorflow-datasets prepared; $TFDS_DATA_DIR by default.",
    "module": "A Python file, or a module's name, with your own networks or "
    "activations; the command imports the module first.",
    "model": "Name of a model, see list_models().",
    "weights": "A data set's name, a tag of list_weights(), the folder of a finished "
    "training run, a .weights.h5 or .keras file, or hf:owner/repo[@revision].",
    "activation": "Name of the activation; selects the weight file if --weights is the "
    "name of a data set. By default the network's own, or another that has weights.",
}
_DEBUG = flags.DEFINE_bool(
    "debug", False, "Print tracebacks of errors, and all messages of libraries with time and file."
)


def define(*names: str) -> None:
    """Defines shared flags by name."""
    for name in names:
        if name == "config":
            config.define()
        else:
            define_one = define_path if name == "data_dir" else flags.DEFINE_string
            define_one(name, None, _STRINGS[name])


class _PathParser(flags.ArgumentParser):
    def parse(self, argument: str) -> str:
        if not argument:
            raise ValueError("Set it to a file or a folder.")
        return os.path.expanduser(argument)  # bash leaves ~ in --flag=~/folder


def define_path(
    name: str, default: str | None, help: str, **options: bool
) -> flags.FlagHolder[str]:
    """Defines the flag of a file or folder, whose value may begin with `~`."""
    parser, serializer = _PathParser(), flags.ArgumentSerializer()
    return flags.DEFINE(parser, name, default, help, serializer=serializer, **options)


def define_model() -> None:
    """Defines the flags that name a model with its weights."""
    define("model", "weights", "activation", "module")
    flags.DEFINE_bool("allow_unverified", False, "Load a file that Keras saved.")


def define_budget(default: str, help: str) -> None:
    """Defines the flags of commands that train many runs."""
    flags.DEFINE_enum("budget", default, ["smoke", "short", "full"], help)
    flags.DEFINE_integer("jobs", None, "Runs at once; default: a core and 4 GiB each; GPU: 1.", 1)


def define_training() -> list[flags.FlagHolder]:
    """Defines and returns the flags that decide where and how a run is trained."""
    strategies = ["auto", "one", "mirrored", "multi_worker"]
    return [
        flags.DEFINE_enum("strategy", "auto", strategies, "Distribution strategy of TensorFlow."),
        flags.DEFINE_integer("num_devices", None, "Number of GPUs or logical CPU devices.", 1),
        flags.DEFINE_enum("compile", "auto", ["auto", "on", "off"], "Whether XLA compiles."),
        flags.DEFINE_integer("steps_per_call", None, "Iterations per compiled call.", 1),
        flags.DEFINE_integer("accumulate", 1, "Parts of a batch, one by one to save memory.", 1),
        flags.DEFINE_bool("allow_config_change", False, "Resume with a changed config."),
    ]


def pretrained() -> "Pretrained | Any":
    """Returns the weights that the flags name; None without --weights."""
    from elu_zoo.weights.pretrained import find

    values = flags.FLAGS
    options = {name: values[name].value for name in ("activation", "allow_unverified")}
    return find(values.model, values.weights, **options)


def no_arguments(argv: list[str]) -> None:
    """Checks that the command line has flags only."""
    if len(argv) > 1:
        raise errors.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}. Remove them.")


def binary(
    main: Callable[[list[str]], int | None],
    check: Callable[[list[str]], None],
    *,
    verbose: bool = False,
    imports: bool = True,
) -> Callable[[], None]:
    """Returns a function that runs a binary and exits with the code of `main` or of an error.

    `check` raises errors before the import of TensorFlow, which a binary without `imports`
    does not need. `verbose` logs progress.
    """
    return functools.partial(_run, main, check, verbose, imports)


def _run(main: Callable, *settings: Callable | bool) -> None:
    streams.protect()
    if _HELP & set(sys.argv[1:]):
        print(_help(sys.modules[main.__module__].__doc__ or ""))
        sys.exit(0)
    if "--version" in sys.argv[1:] and "version" not in flags.FLAGS:
        print(*(f"{name} {metadata.version(name)}" for name in ("elu_zoo", "keras", "tensorflow")))
        sys.exit(0)
    try:
        app.run(functools.partial(_run_parsed, main, *settings), flags_parser=_parse)
    except errors.EluZooError as error:
        _fail(str(error), error.exit_code)
    except (MemoryError, OSError) as error:
        _fail(str(error) or "Memory is full.", errors.ResourceError.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except Exception as error:  # of TensorFlow or JAX
        if not re.search("resource_?exhausted", f"{type(error).__name__} {error}", re.IGNORECASE):
            raise
        _fail(f"Memory is full; use smaller batches (TensorFlow: --accumulate). {error}"[:500], 1)


def _run_parsed(
    main: Callable, check: Callable, verbose: bool, imports: bool, argv: list[str]
) -> int | None:
    absl_logging.set_verbosity(absl_logging.INFO if verbose else absl_logging.WARNING)
    for name in ("tensorflow", "jax", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)
    keras_registration.check_backend()
    module = "module" in flags.FLAGS and flags.FLAGS.module
    if not module:
        check(argv)
    if imports and not _DEBUG.value:
        quiet.start()  # imports TensorFlow
    if module:
        user_module.load(module)
        check(argv)  # the module may register names
    code = main(argv)
    sys.stdout.flush()  # raises here if the disk is full
    return code


def _fail(message: str, exit_code: int) -> None:
    if any(re.fullmatch(r"--?debug(=(true|t|1))?", a.lower()) for a in sys.argv):
        traceback.print_exc()
    print("error:", errors.printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(exit_code)


def _parse(argv: list[str]) -> list[str]:
    """Parses the command line; raises `UsageError` for a wrong flag or config."""
    if {"--helpfull", "-helpfull"} & {*argv}:
        argv = [argv[0], "--helpfull"]
    elif "config" in flags.FLAGS:
        argv = config.resolve_flag(argv)
    try:
        return flags.FLAGS(argv)
    except flags.UnrecognizedFlagError as error:
        known = [f"--{name}" for name in sorted(set(flags.FLAGS) - _ABSL_FLAGS)]
        raise errors.unknown_name_error("flag", f"--{error.flagname}", known) from None
    except (flags.Error, AttributeError, TypeError, ValueError) as error:
        missing = sorted(re.findall(r"Flag (--\w+) must have a value", str(error)))
        message = f"Missing: {', '.join(missing)}. See --help."
        raise errors.UsageError(message if missing else str(error)) from error


def _help(description: str) -> str:
    lines = [description.strip(), "", "Flags:"]
    for name in sorted(set(flags.FLAGS) - _ABSL_FLAGS):
        flag = flags.FLAGS[name]
        default = "" if flag.default in (None, False) else f" Default: {flag.default}."
        lines.append(f"  --{'[no]' * flag.boolean}{name}")
        lines.append(flags.text_wrap(flag.help + default, 80, "      "))
    end = "" if "version" in flags.FLAGS else "--version prints versions. "
    return "\n".join([*lines, "", end + "--helpfull lists absl's own flags as well."])
