"""models.config: the list of models that TensorFlow Serving reads when it starts."""

from pathlib import Path

from elu_zoo import errors, files
from elu_zoo.export import versions

NAME = "models.config"
_MOUNTED_AT = "/models"


def text(directory: Path) -> str:
    """Returns the list of the SavedModels in a folder, as a text proto.

    TensorFlow Serving wants absolute paths, and its image is given the folder under
    another name than it has here. The paths are those of a folder that is mounted at
    /models, whatever its own name:

        docker run -p 8501:8501 -v "$PWD/exports:/models" tensorflow/serving \\
            --model_config_file=/models/models.config

    Args:
        directory: the base of all exports.
    """
    lines = ["model_config_list {"]
    for folder in sorted(directory.iterdir()):
        found = versions.versions(folder).values()
        if versions.is_name(folder.name) and any(
            (version / versions.SAVED_MODEL).is_file() for version in found
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
    """Writes `<directory>/models.config`, whole: a reader sees the old or the new one.

    Args:
        directory: the base of all exports.

    Raises:
        ResourceError: the disk refused.
    """
    try:
        listed = None
        # Of exports at the same time, the last that writes has listed them all.
        while (current := text(directory)) != listed:
            files.write_bytes(directory / NAME, current.encode())
            listed = current
    except OSError as error:
        raise errors.ResourceError(
            f"The model is exported, but {directory / NAME} cannot be written: {error}"
        ) from error
