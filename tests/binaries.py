"""Functions that run a binary of elu_zoo.bin, in this process or in a new process."""

import dataclasses
import importlib
import io
import logging
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import array_record.python.array_record_data_source  # noqa: F401  (defines flags)
from absl import app, flags
from absl import logging as absl_logging

app.define_help_flags()
_FLAGS_OF_ABSL = frozenset(flags.FLAGS)
# `load` imports these modules again; ml_collections names all configs config_config.
_FRESH = ("elu_zoo.bin", "config_config")


@dataclasses.dataclass(frozen=True)
class Result:
    """Exit code, stdout and stderr of a binary."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The error line, which must be the only one and the last line of stderr."""
        assert "Traceback" not in self.err, self.err
        lines = [x for x in self.err.splitlines() if x.startswith("error: ")]
        assert len(lines) == 1, self.err
        assert self.err.splitlines()[-1] == lines[0], self.err
        assert self.out == ""
        return lines[0]


def load(binary):
    """Imports a binary, after removal of the flags that earlier binaries defined."""
    flags.FLAGS.unparse_flags()
    for name in [name for name in flags.FLAGS if name not in _FLAGS_OF_ABSL]:
        delattr(flags.FLAGS, name)
    for name in [name for name in sys.modules if name.startswith(_FRESH)]:
        del sys.modules[name]
    return importlib.import_module(f"elu_zoo.bin.{binary}")


def run_here(binary, *arguments) -> Result:
    """Runs a binary in this process, with new flags and streams."""
    out, err = io.StringIO(), io.StringIO()
    argv, handler = sys.argv, absl_logging.get_absl_handler().python_handler
    stream, root_level = handler.stream, logging.getLogger().level
    verbosity = absl_logging.get_verbosity()
    root_handlers = list(logging.getLogger().handlers)
    sys.argv = [f"elu-zoo-{binary}", *map(str, arguments)]
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            warnings.catch_warnings(),
            mock.patch.dict(os.environ),
        ):
            # ml_collections imports a config with load_module.
            warnings.filterwarnings("ignore", "the load_module", DeprecationWarning)
            handler.stream = sys.stderr
            load(binary).run()
        code = None
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.argv, handler.stream = argv, stream
        logging.getLogger().handlers[:] = root_handlers
        absl_logging.set_verbosity(verbosity)
        logging.getLogger().setLevel(root_level)
        for name in ("tensorflow", "jax", "matplotlib"):
            logging.getLogger(name).setLevel(logging.NOTSET)
    return Result(code or 0, out.getvalue(), err.getvalue())


def run_process(binary, *arguments) -> Result:
    """Runs a binary in a new process."""
    process = subprocess.run(
        [sys.executable, "-m", f"elu_zoo.bin.{binary}", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    return Result(process.returncode, process.stdout, process.stderr)
