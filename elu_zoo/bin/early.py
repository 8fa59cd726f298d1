"""Checks of command lines before Keras and TensorFlow are imported, which takes seconds."""

from pathlib import Path

from absl import flags as absl_flags
from ml_collections import ConfigDict

from elu_zoo import errors, registry
from elu_zoo.bin import flags
from elu_zoo.data import image_files, load
from elu_zoo.export import versions
from elu_zoo.weights import pretrained


def check_flags(argv: list[str]) -> None:
    """Checks --model, --weights and --data, and that only flags are set."""
    flags.no_arguments(argv)
    values = absl_flags.FLAGS
    _check_names(values.model, values.weights)
    if "data" in values and values.data:
        load.check_exists(values.data, values.data_dir)


def check_networks(argv: list[str]) -> None:
    """Checks --models of elu-zoo-benchmark."""
    flags.no_arguments(argv)
    for model in absl_flags.FLAGS.models or ():
        registry.check_name(model)


def check_images(argv: list[str]) -> None:
    """Checks the images and the model of elu-zoo-predict."""
    paths, values = argv[1:], absl_flags.FLAGS
    if bool(paths) == bool(values.data):
        both = " Received: both." if paths else ""
        raise errors.UsageError(f"Pass image files or folders, or set --data.{both}")
    if paths and values["count"].present:
        raise errors.UsageError("--count needs --data. Remove --count for image files.")
    if values.digit and values.data:
        raise errors.UsageError("--digit is for image files. Remove --digit.")
    of_weights = [values.model, values.weights, values.activation]
    # --saved_model excludes these three flags. Without it, the first two are required.
    if any(of_weights) if values.saved_model else not all(of_weights[:2]):
        raise errors.UsageError("Set --saved_model alone, or --model and --weights.")
    if values.picture and not values.picture.lower().endswith(".png"):
        raise errors.UsageError(f"--picture must end in .png. Received: {values.picture!r}.")
    check_flags(argv[:1])
    if values.saved_model:
        versions.find_version(Path(values.saved_model))
    image_files.check_exist(paths)


def check_train(argv: list[str]) -> None:
    """Checks network and weights, and the data unless the run has a folder."""
    flags.no_arguments(argv)
    values = absl_flags.FLAGS
    name = str(values.config.get("name"))
    folders = [p for p in Path("runs").glob("*") if p.name.startswith(name)]
    folders = [Path(values.workdir)] if values.workdir else folders
    check_fields(has_run=any(path.exists() for path in folders))


def check_comparison(argv: list[str]) -> None:
    """Checks network, weights and data of elu-zoo-compare."""
    flags.no_arguments(argv)
    check_fields(has_run=False)


def check_fields(*, has_run: bool) -> None:
    """Checks network, weights and, unless the run `has_run` before, data of --config."""
    values = absl_flags.FLAGS
    model, data = values.config.get("model"), values.config.get("data")
    if isinstance(model, ConfigDict):
        _check_names(model.get("name"), model.get("weights"))
    if not isinstance(data, ConfigDict) or has_run:
        return
    folder, name = data.get("folder"), values.data or data.get("name")
    if folder and isinstance(folder, str) and not values.data:
        if not Path(folder).expanduser().is_dir():
            raise errors.NotFoundError(f"There is no folder {folder}.")
    elif name and isinstance(name, str):
        load.check_exists(name, values.data_dir)


def _check_names(model: object, weights: object) -> None:
    """Checks that a model and its weights exist, if they are named."""
    if model and isinstance(model, str):
        registry.check_name(model)
        if weights and isinstance(weights, str):
            pretrained.check_exists(model, weights)
