"""Checkpoints that are whole, verified, or passed over.

`<workdir>/checkpoints/step-<iteration>/` holds arrays.npz (weights and optimizer)
and manifest.json (hash of the arrays, state of the loop, versions, its own hash). A
folder appears by one rename, after everything in it is on the disk.
"""

import importlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from absl import logging

import elu_zoo
from elu_zoo import errors, files

FORMAT = 1
_NAME = re.compile(r"step-\d{9}")
# Of what is not there, and not of a disk or a network that may answer next time.
_MISSING = FileNotFoundError, NotADirectoryError, IsADirectoryError


def versions() -> dict[str, str]:
    """Returns the versions of what the numbers of a run depend on."""
    found = {"elu_zoo": elu_zoo.__version__, "numpy": np.__version__}
    found["keras"] = keras.__version__
    # Not the distribution's: TensorFlow has several, such as tensorflow-cpu.
    backend = importlib.import_module(keras.backend.backend())
    found[backend.__name__] = backend.__version__
    return found


class Checkpoints:
    """The checkpoints of one run.

    Args:
        workdir: the run's folder.
        variables: Keras variables of model and optimizer, in a fixed order.
        kept: how many of the newest to keep.
    """

    def __init__(self, workdir: Path, variables: Sequence[Any], kept: int):
        self._folder = workdir / "checkpoints"
        # Two layers' generators may share a path; their place in the order differs.
        self._variables = {f"{i:04d}/{v.path}": v for i, v in enumerate(variables)}
        self._kept = kept

    def check_room(self) -> None:
        """Checks that the disk has room for three checkpoints, with those it has.

        Raises:
            ResourceError: it has none.
        """
        size = sum(np.asarray(v).nbytes for v in self._variables.values())
        files.check_room(self._folder, max(1, 3 - len(self._all())) * size)

    def save(self, state: dict[str, Any]) -> bool:
        """Saves the variables and the loop's state.

        Args:
            state: JSON values; `state["step"]` is the number of iterations done.

        Returns:
            Whether it was written; False where there is one of that step.

        Raises:
            TrainingError: a value is not finite; nothing is written.
            ResourceError: the disk refused; earlier checkpoints are untouched.
        """
        step = state["step"]
        target = self._folder / f"step-{step:09d}"
        if target.exists():
            return False
        arrays = {name: np.asarray(v) for name, v in self._variables.items()}
        for name, value in arrays.items():
            if not np.isfinite(value).all():
                raise errors.TrainingError(
                    f"{name} is not finite after iteration {step}: not saved."
                )
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        content = buffer.getvalue()
        manifest = {
            "format": FORMAT,
            "state": state,
            "sha256": files.sha256(content),
            "versions": versions(),
        }
        try:
            with files.new_directory(target) as folder:
                (folder / "arrays.npz").write_bytes(content)
                (folder / "manifest.json").write_text(sealed(manifest))
        except OSError as error:
            raise errors.ResourceError(
                f"The checkpoint of iteration {step} ({len(content)} bytes) could not "
                f"be written to {self._folder}: {error}. Earlier ones are intact."
            ) from error
        # Hidden ones are what a killed process was writing.
        for old in [*self._all()[self._kept :], *self._folder.glob(".step-*")]:
            shutil.rmtree(old, ignore_errors=True)
        return True

    def restore(self, *, keep_damaged: bool = False) -> dict[str, Any] | None:
        """Restores the newest checkpoint that is whole.

        Args:
            keep_damaged: leave those that are passed over where they are.

        Returns:
            The loop's state, or None where there is no checkpoint.

        Raises:
            CorruptError: there are checkpoints and none is whole, or one is of a
                newer format or of another model.
            ResourceError: one cannot be read, for instance over a network.
        """
        damaged = []
        for folder in self._all():
            try:
                manifest, arrays = _read(folder)
            except _Damaged as problem:
                logging.error("%s is damaged (%s): passed over.", folder, problem)
                damaged.append(folder.name)
                continue
            self._assign(folder, arrays)
            for name in damaged * (not keep_damaged):
                files.remove(self._folder / name)
            return manifest["state"]
        if damaged:
            raise errors.CorruptError(
                f"Every checkpoint in {self._folder} is damaged: {', '.join(damaged)}. "
                "Delete that folder to start from the beginning."
            )
        return None

    def _all(self) -> list[Path]:
        found = self._folder.glob("step-*")
        return sorted((p for p in found if _NAME.fullmatch(p.name)), reverse=True)

    def _assign(self, folder: Path, arrays: dict[str, np.ndarray]) -> None:
        arrays = {_uncounted(name): value for name, value in arrays.items()}
        variables = {_uncounted(name): v for name, v in self._variables.items()}
        expected = {name: tuple(v.shape) for name, v in variables.items()}
        found = {name: value.shape for name, value in arrays.items()}
        if found != expected:
            differing = sorted(set(found.items()) ^ set(expected.items()))
            raise errors.CorruptError(
                f"{folder} is of another model or optimizer; differing: "
                f"{', '.join(sorted({name for name, _ in differing})[:5])}."
            )
        for name, variable in variables.items():
            variable.assign(arrays[name])


def sealed(manifest: dict[str, Any]) -> str:
    """Returns the manifest's text with a hash of all its other entries."""
    entries = {key: value for key, value in manifest.items() if key != "seal"}
    entries["seal"] = files.sha256(json.dumps(entries).encode())
    return json.dumps(entries, indent=2)


def _uncounted(name: str) -> str:
    """The name without numbers like those that Keras counts up within a process."""
    return re.sub(r"_\d+(?=[/_]|$)", "", name)


class _Damaged(Exception):
    """A checkpoint that is not what its manifest says."""


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        text = (folder / "manifest.json").read_text()
        manifest = json.loads(text)
        if sealed(manifest) != text:
            raise _Damaged("manifest.json has another seal than its content")
        content = (folder / "arrays.npz").read_bytes()
        if manifest["format"] > FORMAT:
            raise errors.CorruptError(
                f"{folder} has format {manifest['format']}; this version of elu_zoo "
                f"reads up to {FORMAT}. Upgrade elu_zoo."
            )
        if files.sha256(content) != manifest["sha256"]:
            raise _Damaged("arrays.npz has another SHA-256 than the manifest says")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            values = dict(arrays)
        if folder.name != f"step-{manifest['state']['step']:09d}":
            raise _Damaged("the manifest is of another iteration")
    # AttributeError: JSON, but no object.
    except (
        *_MISSING, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile
    ) as error:  # fmt: skip
        raise _Damaged(f"{type(error).__name__}: {error}") from error
    except OSError as error:
        raise errors.ResourceError(
            f"{folder} cannot be read: {error}. Nothing was changed; try again."
        ) from error
    if manifest["versions"] != versions():
        logging.warning(
            "%s was written with %s, this is %s: the run goes on, but is no longer "
            "promised to be bit-identical.",
            folder,
            manifest["versions"],
            versions(),
        )
    return manifest, values
