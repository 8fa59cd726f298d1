"""Repository: a folder of models, each with its versions and its served version.

The highest version of a model is served. While a new version is loaded and warmed up,
the old version stays in service. A version that cannot be loaded is reported, and
tried again when its files change, or five times, a minute apart, as in TensorFlow Serving.
"""

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import grpc
from tensorflow_serving.apis import get_model_status_pb2, model_pb2

from elu_zoo import errors
from elu_zoo.serving import servable
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.servable import Servable
from elu_zoo.serving.signature import Signature
from elu_zoo.serving.status_errors import StatusError, invalid_argument, shorten, unknown_name
from elu_zoo.weights import provenance

_Status: TypeAlias = get_model_status_pb2.ModelVersionStatus
State = _Status.State
_MAX_VERSION = 2**63 - 1  # the largest int64, the type of a version in messages
_RETRIES, _RETRY_SECONDS = 5, 60.0
_Files = tuple[tuple[str, int, int], ...]


@dataclasses.dataclass
class Model:
    """A model's folder and the versions in the folder.

    Attributes:
        error: why the folder could not be read at the last poll.
        serving: loaded version that runs requests, if any.
        states: state of each version, by version number.
        seen: files of each new version at the last poll, by version number.
        failed: files of each version that could not be loaded, and the times of the
            attempts in seconds, by version number.
    """

    folder: Path
    error: str = ""
    serving: Servable | None = None
    states: dict[int, _Status] = dataclasses.field(default_factory=dict)
    seen: dict[int, _Files] = dataclasses.field(default_factory=dict)
    failed: dict[int, tuple[_Files, list[float]]] = dataclasses.field(default_factory=dict)

    def set_state(self, number: int, state: int, message: str = "") -> None:
        status = _Status(version=number, state=state)
        if message:
            status.status.error_code = grpc.StatusCode.UNKNOWN.value[0]
        status.status.error_message = message
        # Replaces the dictionary, because other threads may iterate over the old one.
        self.states = {**self.states, number: status}


class Repository:
    """The models of a folder.

    `poll` must run in one thread at a time. All other methods are thread-safe.
    """

    def __init__(self, base: Path, batcher: Callable[[str, Signature], Batcher]):
        """Finds the models of a folder; `batcher` makes the request queue of a signature."""
        self._base = base
        self._batcher = batcher
        self._has_polled = False
        self._ignored: list[str] = []
        self.models: dict[str, Model] = {}
        if not self._folders():
            raise errors.UsageError(
                f"{base} contains no model. Expected {base}/<version>/{servable.FILE} "
                f"or {base}/<name>/<version>/{servable.FILE}, in which <version> is an "
                "integer >= 0. Run elu-zoo-export to create such a folder."
            )

    def find(self, spec: model_pb2.ModelSpec) -> Servable:
        """Returns the served version for a request."""
        if not spec.name:
            raise invalid_argument("The request has no name of a model")
        _check_label(spec)
        model = self.models.get(spec.name)
        served = model.serving if model else None
        if served is None:
            raise _not_found(spec, [name for name, m in self.models.items() if m.serving])
        if spec.HasField("version") and spec.version.value != served.version:
            raise _not_found(spec, [f"{served.name}/versions/{served.version}"])
        return served

    def status(self, spec: model_pb2.ModelSpec) -> get_model_status_pb2.GetModelStatusResponse:
        """Returns the states of a model's versions, from the highest version down."""
        _check_label(spec)
        model = self.models.get(spec.name)
        states = model.states if model else {}
        if not states:
            raise _not_found(spec, sorted(self.models))
        if spec.HasField("version"):
            if spec.version.value not in states:
                raise _not_found(spec, sorted(map(str, states)))
            states = {spec.version.value: states[spec.version.value]}
        rows = [states[number] for number in sorted(states, reverse=True)]
        return get_model_status_pb2.GetModelStatusResponse(model_version_status=rows)

    def serving(self) -> list[Servable]:
        """Returns the served versions, sorted by the model's name."""
        served = (model.serving for _, model in sorted(self.models.items()))
        return [model for model in served if model]

    def poll(self) -> None:
        """Loads new versions and unloads deleted versions."""
        folders = self._folders()
        self._warn_of_ignored(folders)
        for name in {**folders, **self.models}:
            if name not in self.models:
                # Replaces the dictionary, because other threads may iterate over it.
                self.models = {**self.models, name: Model(folders[name])}
            model = self.models[name]
            try:
                self._poll(name, model)
                model.error = ""
            except OSError as error:
                if str(error) != model.error:
                    logging.getLogger(__name__).warning("Cannot read model %s: %s", name, error)
                model.error = str(error)
        self.models = {n: m for n, m in self.models.items() if m.states}
        self._has_polled = True

    def _folders(self) -> Mapping[str, Path]:
        base = self._base
        if not base.is_dir():
            served = ", ".join(self.models) or "none"
            raise OSError(f"{base} was deleted. Models still in service: {served}.")
        if _versions(base):
            return {base.resolve().name: base}
        return {path.name: path for path in _subfolders(base) if _is_model(path)}

    def _warn_of_ignored(self, models: Mapping[str, Path]) -> None:
        """Warns once of all folders that are neither a model nor a version."""
        folders = {self._base, *models.values()}
        used = {*models.values(), *(p for f in folders for p in _versions(f).values())}
        unused = (p for f in folders for p in _subfolders(f) if p not in used)
        ignored = sorted(ascii(str(path)) for path in unused)
        if ignored and ignored != self._ignored:
            logging.getLogger(__name__).warning(
                "No models or versions, so not served: %s. The name of a version is an integer "
                ">= 0, the name of a model has printable characters.",
                ", ".join(ignored),
            )
        self._ignored = ignored

    def _poll(self, name: str, model: Model) -> None:
        folders = _versions(model.folder)
        current = model.serving.version if model.serving else -1
        if not folders:
            if model.serving:
                self._replace(name, model, None)
            model.states = {}
        for number in set(model.states) - {*folders, current}:
            if model.states[number].state != State.END or model.failed.pop(number, None):
                model.set_state(number, State.END)
        # If the current version was deleted, a lower version may replace it.
        lowest = current if current in folders else -1
        waits = False
        for number in sorted((n for n in folders if n > lowest), reverse=True):
            files = _files(folders[number])
            failed, times = model.failed.get(number, ((), []))
            times = times if failed == files else []
            if len(times) > _RETRIES or times and time.monotonic() < times[-1] + _RETRY_SECONDS:
                continue
            if self._has_polled and model.seen.get(number) != files:
                # Files that changed since the last poll may be incomplete.
                model.seen[number] = files
                if not waits:
                    model.set_state(number, State.START)
                waits = True
                continue
            if self._load(name, model, number, folders[number]):
                return
            model.failed[number] = files, [*times, time.monotonic()]

    def _load(self, name: str, model: Model, number: int, path: Path) -> bool:
        model.set_state(number, State.LOADING)
        try:
            loaded = servable.load(name, number, path, self._batcher)
        except errors.CorruptError as error:
            logging.getLogger(__name__).error("%s", error)
            model.set_state(number, State.END, str(error))
            return False
        self._replace(name, model, loaded)
        return True

    def _replace(self, name: str, model: Model, new: Servable | None) -> None:
        old, model.serving = model.serving, new
        if new:
            model.set_state(new.version, State.AVAILABLE)
            label = f"{name}/{new.version}: {provenance.text(new.origin)}"
            logging.getLogger(__name__).info("serving %s", label)
        if old:
            model.set_state(old.version, State.END)
            logging.getLogger(__name__).info("unloaded %s/%d", name, old.version)


def _check_label(spec: model_pb2.ModelSpec) -> None:
    if spec.version_label:
        raise invalid_argument(f"Versions have no labels, got {shorten(spec.version_label)}")


def _not_found(spec: model_pb2.ModelSpec, available: list[str]) -> StatusError:
    version = f" in version {spec.version.value}" if spec.HasField("version") else ""
    message = f"There is no model {shorten(spec.name)}{version}."
    return unknown_name(grpc.StatusCode.NOT_FOUND, message, available)


def _versions(folder: Path) -> dict[int, Path]:
    """Returns the subfolders whose names are integers >= 0."""
    names = [p for p in _subfolders(folder) if p.name.isascii() and p.name.isdecimal()]
    return {int(p.name): p for p in names if int(p.name) <= _MAX_VERSION}


def _subfolders(folder: Path) -> list[Path]:
    """Returns the folders in a folder without hidden ones, none if it was deleted."""
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in paths if path.is_dir() and not path.name.startswith(".")]


def _is_model(folder: Path) -> bool:
    # A line break in a name would end a line of the log or a gRPC header.
    if not folder.name.isprintable():
        return False
    try:
        return bool(_versions(folder))
    except OSError:  # for example lost+found, which only root may read
        return False


def _files(folder: Path) -> _Files:
    """Returns name, size in bytes and modification time in ns of a version's files."""
    files = []
    for path in sorted(folder.rglob("*")):
        try:
            stat = path.stat()
        except OSError:
            continue
        files.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return tuple(files)
