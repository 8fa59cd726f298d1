"""Checks of command lines that need neither Keras nor TensorFlow.

Their import takes seconds; what does not exist is refused before it. Each check takes
what is left of a command line after its flags.
"""

from pathlib import Path

from absl import flags as absl_flags
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.bin import flags
from elu_zoo.data import image_files, load
from elu_zoo.export import versions
from elu_zoo.weights import pretrained


def exist(*, model: str = "", weights: str = "", data: str = "") -> None:
    """Checks that what a command line names exists, without Keras and TensorFlow.

    Args:
        model: as of --model.
        weights: as of --weights.
        data: as of --data; a name that is no path is not checked.

    Raises:
        UsageError: there is no such model, or it has no such weights.
        NotFoundError: there is no such file or folder.
    """
    if model:
        registry.check_name(model)
    if model and weights:
        pretrained.check_exists(model, weights)
    if data:
        load.check_exists(data)


def shared(argv: list[str]) -> None:
    """Checks --model, --weights and --data of a binary that takes flags alone."""
    flags.no_arguments(argv)
    _shared()


def _shared() -> None:
    values = absl_flags.FLAGS
    data = values.data if "data" in values else ""
    exist(model=values.model, weights=values.weights, data=data)


def networks(argv: list[str]) -> None:
    """Checks --models of the benchmark."""
    flags.no_arguments(argv)
    for model in absl_flags.FLAGS.models or ():
        exist(model=model)


def images(argv: list[str]) -> None:
    """Checks what is predicted, and by which model."""
    paths, values = argv[1:], absl_flags.FLAGS
    if values["prefetch"].present:
        flags.alone("prefetch", paths)
        return
    if bool(paths) == bool(values.data):
        raise errors.UsageError("Name IMAGE files or folders, or --data; not both.")
    if paths and values["count"].present:
        raise errors.UsageError("--count is of --data, not of IMAGE files.")
    of_weights = [values.model, values.weights, values.activation]
    if any(of_weights) if values.saved_model else not all(of_weights[:2]):
        raise errors.UsageError("Give --saved_model alone, or --model and --weights.")
    if not values.picture.lower().endswith(".png"):
        raise errors.UsageError(f"--picture ends in .png, got {values.picture!r}.")
    _shared()
    if values.saved_model:
        versions.find_version(Path(values.saved_model))
    image_files.check_exist(paths)


def config(argv: list[str]) -> None:
    """Checks what a config names, if it is complete: `resolve` says what it lacks."""
    flags.no_arguments(argv)
    values = absl_flags.FLAGS
    model, data = values.config.get("model"), values.config.get("data")
    if isinstance(model, ConfigDict):
        exist(model=_text(model.get("name")), weights=_text(model.get("weights")))
    # Of a finished run, whose folder exists, the images may be gone.
    if values.workdir is None:
        name, runs = str(values.config.get("name")), Path("runs")
        is_new = not any(x.name.startswith(name) for x in runs.glob("*"))
    else:
        is_new = not Path(values.workdir).exists()
    if isinstance(data, ConfigDict) and is_new:
        folder = _text(data.get("folder"))
        if folder and not values.data:
            if not Path(folder).expanduser().is_dir():
                raise errors.NotFoundError(f"There is no folder {folder}.")
        else:
            exist(data=values.data or _text(data.get("name")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
