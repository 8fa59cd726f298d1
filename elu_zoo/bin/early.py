"""Checks of command lines before Keras and TensorFlow are imported.

Without these checks a user would wait seconds for the message of a misspelt name.
"""

from pathlib import Path

from absl import flags as absl_flags
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.bin import flags
from elu_zoo.data import image_files, load
from elu_zoo.export import versions
from elu_zoo.weights import pretrained


def check_exist(*, model: str = "", weights: str = "", data: str = "") -> None:
    """Checks that a model, its weights and a data set exist, unless they are ""."""
    if model:
        registry.check_name(model)
    if model and weights:
        pretrained.check_exists(model, weights)
    if data:
        load.check_exists(data)


def check_flags(argv: list[str]) -> None:
    """Checks --model, --weights and --data, and that only flags are set."""
    flags.no_arguments(argv)
    values = absl_flags.FLAGS
    data = values.data if "data" in values else ""
    check_exist(model=values.model, weights=values.weights, data=data)


def check_networks(argv: list[str]) -> None:
    """Checks --models of elu-zoo-benchmark."""
    flags.no_arguments(argv)
    for model in absl_flags.FLAGS.models or ():
        check_exist(model=model)


def check_images(argv: list[str]) -> None:
    """Checks the images and the model of elu-zoo-predict."""
    paths, values = argv[1:], absl_flags.FLAGS
    if values["prefetch"].present:
        flags.check_alone("prefetch", paths)
        return
    if bool(paths) == bool(values.data):
        both = " Received: both." if paths else ""
        raise errors.UsageError(f"Pass image files or folders, or set --data.{both}")
    if paths and values["count"].present:
        raise errors.UsageError("--count needs --data. Remove --count for image files.")
    if values.digit and (values.invert or values.data):
        other, why = ("--invert", "finds out whether the ink is dark or light")
        if values.data:
            other, why = ("--data", "is for image files")
        raise errors.UsageError(f"--digit {why}. Remove {other}.")
    of_weights = [values.model, values.weights, values.activation]
    # --saved_model excludes these three flags. Without it, the first two are required.
    if any(of_weights) if values.saved_model else not all(of_weights[:2]):
        raise errors.UsageError("Set --saved_model alone, or --model and --weights.")
    if not values.picture.lower().endswith(".png"):
        raise errors.UsageError(f"--picture must end in .png. Received: {values.picture!r}.")
    check_flags(argv[:1])
    if values.saved_model:
        versions.find_version(Path(values.saved_model))
    image_files.check_exist(paths)


def check_config(argv: list[str]) -> None:
    """Checks model, weights and data of a config; `resolve` checks the other entries.

    The images are not checked for a run whose folder exists, because a finished run
    does not need them.
    """
    flags.no_arguments(argv)
    values = absl_flags.FLAGS
    if values.workdir is None:
        name, runs = str(values.config.get("name")), Path("runs")
        _check_names(is_new=not any(x.name.startswith(name) for x in runs.glob("*")))
    else:
        _check_names(is_new=not Path(values.workdir).exists())


def comparison(argv: list[str]) -> None:
    """Checks model, weights and data of the config of elu-zoo-compare."""
    flags.no_arguments(argv)
    _check_names(is_new=True)


def _check_names(*, is_new: bool) -> None:
    values = absl_flags.FLAGS
    model, data = values.config.get("model"), values.config.get("data")
    if isinstance(model, ConfigDict):
        check_exist(model=_text(model.get("name")), weights=_text(model.get("weights")))
    if isinstance(data, ConfigDict) and is_new:
        folder = _text(data.get("folder"))
        if folder and not values.data:
            if not Path(folder).expanduser().is_dir():
                raise errors.NotFoundError(f"There is no folder {folder}.")
        else:
            check_exist(data=values.data or _text(data.get("name")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
