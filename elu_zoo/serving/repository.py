"""The models under a folder: which versions there are, and which one answers.

The highest version answers. A new one is loaded and warmed up beside the one that
answers, and takes over only then; one that cannot be loaded is reported, and tried
again when its files change.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import grpc
from tensorflow_serving.apis import get_model_status_pb2, model_pb2

from elu_zoo import errors
from elu_zoo.serving import refusals, servable
from elu_zoo.serving.batching import Batcher
from elu_zoo.serving.refusals import Refusal
from elu_zoo.serving.servable import Servable
from elu_zoo.serving.signature import Signature
from elu_zoo.weights import provenance

State = get_model_status_pb2.ModelVersionStatus.State
_LARGEST = 2**63 - 1  # version, as a message holds it
_Files = tuple[tuple[str, int, int], ...]


@dataclasses.dataclass(frozen=True)
class VersionState:
    """What became of a version; `message` is empty while all is well."""

    state: int
    message: str = ""


@dataclasses.dataclass
class Model:
    """A model's folder, and what is known of its versions."""

    folder: Path
    serving: Servable | None = None
    states: dict[int, VersionState] = dataclasses.field(default_factory=dict)
    seen: dict[int, _Files] = dataclasses.field(default_factory=dict)
    failed: dict[int, _Files] = dataclasses.field(default_factory=dict)


class Repository:
    """The models under a folder.

    `poll` may run in a thread of its own, one call at a time; the other methods read
    what it leaves.
    """

    def __init__(self, base: Path, batcher: Callable[[str, Signature], Batcher]):
        """Args:
        base: the folder of one model, <base>/<version>/saved_model.pb, or of several,
            <base>/<name>/<version>/saved_model.pb.
        batcher: makes the queue of a model's signature.

        Raises:
            NotFoundError: there is no such folder.
            UsageError: it holds no model.
        """
        self._base = base
        self._batcher = batcher
        self._has_polled = False
        self.models: dict[str, Model] = {}
        if not base.is_dir():
            raise errors.NotFoundError(f"There is no folder {base}.")
        if not self._folders():
            raise errors.UsageError(
                f"{base} holds no model: expected {base}/<version>/{servable.FILE} or "
                f"{base}/<name>/<version>/{servable.FILE}, versions being positive "
                "integers, as elu-zoo-export writes them."
            )

    def find(self, spec: model_pb2.ModelSpec) -> Servable:
        """Returns the version that a request asks for.

        Raises:
            Refusal: there is none; in TensorFlow Serving's words.
        """
        if not spec.name:
            raise refusals.invalid("Missing model name in request.")
        name = refusals.clipped(spec.name)
        _check_label(spec)
        model = self.models.get(spec.name)
        found = model.serving if model else None
        if spec.HasField("version"):
            number = spec.version.value
            asked = f"Specific({name}, {number})"
            if found and found.version != number:
                raise _not_found(asked, [f"{name}/versions/{found.version}"])
        else:
            asked = f"Latest({name})"
        if found is None:
            raise _not_found(asked, [n for n, m in self.models.items() if m.serving])
        return found

    def status(
        self, spec: model_pb2.ModelSpec
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """Returns what became of a model's versions, the newest first.

        Raises:
            Refusal: there is no such model or version; in TensorFlow Serving's words.
        """
        name = refusals.clipped(spec.name)
        model = self.models.get(spec.name)
        states = dict(model.states) if model else {}
        _check_label(spec)
        if spec.HasField("version"):
            number = spec.version.value
            if number not in states:
                raise Refusal(
                    grpc.StatusCode.NOT_FOUND,
                    f"Could not find version {number} of model {name}",
                    sorted(map(str, states)),
                )
            states = {number: states[number]}
        if not states:
            raise Refusal(
                grpc.StatusCode.NOT_FOUND,
                f"Could not find any versions of model {name}",
                sorted(self.models),
            )
        response = get_model_status_pb2.GetModelStatusResponse()
        for number, state in sorted(states.items(), reverse=True):
            row = response.model_version_status.add(version=number, state=state.state)
            if state.message:
                row.status.error_code = grpc.StatusCode.UNKNOWN.value[0]
            row.status.error_message = state.message
        return response

    def serving(self) -> list[Servable]:
        """Returns the versions that answer, by name."""
        models = self.models
        found = (models[name].serving for name in sorted(models))
        return [servable for servable in found if servable]

    def poll(self) -> None:
        """Looks for new and vanished versions, and loads what is new.

        Raises:
            OSError: the folder cannot be read now; everything stays as it is.
        """
        folders = self._folders()
        for name in {**folders, **self.models}:
            if name not in self.models:
                # One assignment, which threads that read see whole.
                self.models = {**self.models, name: Model(folders[name])}
            try:
                self._poll(name, self.models[name], settled=not self._has_polled)
            except OSError:
                logging.getLogger(__name__).exception("%s stays as it is.", name)
        self.models = {n: m for n, m in self.models.items() if m.states}
        self._has_polled = True

    def _folders(self) -> Mapping[str, Path]:
        base = self._base
        if not base.is_dir():
            raise OSError(f"{base} is gone; what was loaded is served on.")
        if _versions(base):
            return {base.resolve().name: base}
        shown = sorted(p for p in base.iterdir() if not p.name.startswith("."))
        return {path.name: path for path in shown if _is_model(path)}

    def _poll(self, name: str, model: Model, *, settled: bool) -> None:
        found = _versions(model.folder)
        current = model.serving.version if model.serving else 0
        if not found and current:
            self._replace(name, model, None)
        if not found:
            model.states = {}
        for number in set(model.states) - {*found, current}:
            if model.states[number].state != State.END or model.states[number].message:
                model.states = {**model.states, number: VersionState(State.END)}
        least = current if current in found else 0
        waits = False
        for number in sorted((n for n in found if n > least), reverse=True):
            files = _files(found[number])
            if model.failed.get(number) == files:
                continue
            if not settled and model.seen.get(number) != files:
                # It may be half copied: wait until its files stay as they are.
                model.seen[number] = files
                if not waits:
                    _set(model, number, State.START)
                waits = True
                continue
            if self._load(name, model, number, found[number]):
                return
            model.failed[number] = files

    def _load(self, name: str, model: Model, number: int, path: Path) -> bool:
        _set(model, number, State.LOADING)
        try:
            loaded = servable.load(name, number, path, self._batcher)
        except errors.CorruptError as error:
            logging.getLogger(__name__).error("%s", error)
            _set(model, number, State.END, str(error))
            return False
        self._replace(name, model, loaded)
        return True

    def _replace(self, name: str, model: Model, new: Servable | None) -> None:
        old, model.serving = model.serving, new
        if new:
            _set(model, new.version, State.AVAILABLE)
            label = f"{name}/{new.version}: {provenance.text(new.origin)}"
            logging.getLogger(__name__).info("serving %s", label)
        if old:
            _set(model, old.version, State.END)
            logging.getLogger(__name__).info("unloaded %s/%d", name, old.version)


def _set(model: Model, number: int, state: int, message: str = "") -> None:
    model.states = {**model.states, number: VersionState(state, message)}


def _check_label(spec: model_pb2.ModelSpec) -> None:
    if spec.version_label:
        raise refusals.invalid(
            "Unrecognized servable version label: "
            f"{refusals.clipped(spec.version_label)}"
        )


def _not_found(asked: str, available: list[str]) -> Refusal:
    return Refusal(
        grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {asked}", available
    )


def _versions(folder: Path) -> dict[int, Path]:
    """Returns the folders whose names are positive integers; of no folder, none."""
    try:
        paths = [path for path in folder.iterdir() if path.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    names = [p for p in paths if p.name.isascii() and p.name.isdecimal()]
    return {int(p.name): p for p in names if 0 < int(p.name) <= _LARGEST}


def _is_model(folder: Path) -> bool:
    try:
        return bool(_versions(folder))
    except OSError:  # such as the lost+found of a volume
        return False


def _files(folder: Path) -> _Files:
    """Returns the names, sizes and times of a version's files."""
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            stat = path.stat()
        except OSError:
            continue
        found.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return tuple(found)
