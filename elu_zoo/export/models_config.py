"""models.config: the list of models that TensorFlow Serving reads at its start."""

from pathlib import Path

from elu_zoo import errors, files
from elu_zoo.export import versions

NAME = "models.config"
_MOUNTED_AT = "/models"


def text(directory: Path) -> str:
    """Returns the protobuf text that lists the SavedModels in `directory`.

    TensorFlow Serving needs absolute paths: those of a container with
    -v "$PWD/exports:/models" and --model_config_file=/models/models.config.
    """
    lines = ["model_config_list {"]
    for folder in sorted(directory.iterdir()):
        if versions.is_name(folder.name) and any(
            (version / versions.SAVED_MODEL).is_file()
            for version in versions.versions(folder).values()
        ):
            lines += [
                "  config {",
                f'    name: "{folder.name}"',
                f'    base_path: "{_MOUNTED_AT}/{folder.name}"',
                '    model_platform: "tensorflow"',
                "  }",
            ]
    return "\n".join([*lines, "}", ""])


def write(directory: Path) -> None:
    """Writes `<directory>/models.config` atomically."""
    try:
        listed = None
        # The folder is listed again after the write, because another export may have
        # finished in the meantime.
        while (current := text(directory)) != listed:
            files.write_bytes(directory / NAME, current.encode())
            listed = current
    except OSError as error:
        raise errors.ResourceError(
            f"The model is exported, but {directory / NAME} cannot be written: {error}"
        ) from error
