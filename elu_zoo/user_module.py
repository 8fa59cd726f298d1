"""Import of the user's module (--module), which registers networks and activations."""

import importlib
import os
import sys
from pathlib import Path

from elu_zoo import errors


def load(module: str) -> Path:
    """Imports a Python file, or a module by its name, once, and returns its path."""
    path, folder = Path(module).expanduser(), os.getcwd()
    is_file = path.suffix == ".py"
    if is_file:
        if not path.is_file():
            raise errors.NotFoundError(f"There is no file {module} (--module).")
        folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported = importlib.import_module(path.stem if is_file else module)
    except errors.EluZooError:
        raise
    except (Exception, SystemExit) as error:
        raise errors.UsageError(
            f"--module={module} raises {type(error).__name__}: {error}. Set --debug to "
            "see the traceback."
        ) from error
    file = getattr(imported, "__file__", None) or os.devnull
    if is_file and not os.path.samefile(file, path):
        raise errors.UsageError(
            f"--module={module}: another module is named {path.stem}. Rename the file."
        )
    return Path(file)
