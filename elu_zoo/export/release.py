"""The files of a release: weights, their entry, the model card, the exported model."""

import gzip
import os
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elu_zoo import errors, files, results, zoo
from elu_zoo.export import models_config, origin, predictor
from elu_zoo.export.saved_model import export_saved_model
from elu_zoo.weights import card, fetch, hub, local, manifest, pretrained


def push_weights(run: str | os.PathLike, to: str) -> str:
    """Publishes the weights of a finished run in a repository of the Hugging Face Hub.

    One commit has the weights, their entry, the model card, the exported SavedModel,
    and the statistics of the preprocessing. `get_model(..., weights="hf:owner/repo")`
    loads them. Files of an earlier run are replaced, and stay in the earlier commit.

    Args:
        run: the folder of a finished run, or its weight file.
        to: `hf:owner/repo`. A missing repository is created, and is public.

    Returns:
        `hf:owner/repo@<commit>`, the name of these weights that never changes.

    Raises:
        UsageError: `to` has another form, huggingface_hub is missing, or the weights
            have no entry or are of a smoke run.
        NotFoundError: there are no weights, or no statistics that they need.
        CorruptError: a file is damaged.
        ResourceError: the hub did not accept the files.

    Example:
        >>> elu_zoo.push_weights("runs/finetune/elu-s0", "hf:me/my-photos")
    """
    hub.check(to, revision=False)
    path, entry = local.with_entry(Path(run).expanduser())
    if entry is None:
        raise errors.UsageError(
            f"{path} has no entry beside it. Pass the folder of a finished run of elu-zoo-train."
        )
    if entry["config"].get("smoke"):
        raise errors.UsageError(f"{path} is of a smoke run. Train it without smoke=True.")
    statistics = [file.find() for file in fetch.files_of(entry)[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "release")
        write(path, entry, results.read("results.csv"), folder, *statistics)
        text = files.read(folder / "README.md").decode()
        shown = text.replace(f'"{entry["tag"]}{manifest.SUFFIX}"', f'"{to}"')
        files.write_bytes(folder / "README.md", shown.encode())
        commit = hub.upload(folder, to, f"Release {entry['tag']}")
    return f"{to}@{commit}"


def write(
    weights: Path,
    entry: manifest.Entry,
    rows: Sequence[dict[str, str]],
    folder: Path,
    statistics: Path | None = None,
) -> None:
    """Replaces a folder with the files of a release, when all of them are written.

    The files are `<tag>.weights.h5`, `<tag>.json`, the model card `README.md`,
    `<tag>.tar.gz` with the SavedModel as `<model>/1/`, and the statistics.

    Args:
        rows: the rows of configs/results/results.csv, including the row of the run.
        statistics: the statistics file that the entry names; None to leave it out.
    """
    text = card.text(entry, rows, front_matter=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as scratch:
            with files.new_directory(Path(scratch, "new")) as new:
                shutil.copyfile(weights, new / (entry["tag"] + manifest.SUFFIX))
                files.write_bytes(new / "README.md", text.encode())
                if statistics:
                    shutil.copyfile(statistics, new / statistics.name)
                _export(entry, new)
            if folder.is_dir():
                os.rename(folder, Path(scratch, "old"))
            os.rename(Path(scratch, "new"), folder)
    except errors.EluZooError:
        raise
    except OSError as error:
        raise errors.ResourceError(
            f"The release cannot be written to {folder}: {error}. Pass another folder."
        ) from error


def _export(entry: manifest.Entry, new: Path) -> None:
    """Adds the entry of weights in the folder `new`, and the exported model."""
    tag, name = entry["tag"], entry["model"]
    files.write_json(new / f"{tag}.json", entry)
    released: Any = pretrained.find(name, new / (tag + manifest.SUFFIX))
    model = zoo.get_model(name, weights=released)
    described = {"name": name, "source": origin.of_weights(released), "version": 1}
    described |= predictor.description(model, name, released)
    with tempfile.TemporaryDirectory() as scratch:
        export_saved_model(model, scratch, **described)
        # A release omits models.config, which lists the models of one machine.
        Path(scratch, models_config.NAME).unlink()
        archive(Path(scratch), new / f"{tag}.tar.gz")


def archive(folder: Path, target: Path) -> None:
    """Packs the content of a folder into a .tar.gz; equal contents give equal bytes."""

    def normalized(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, path.relative_to(folder), recursive=False, filter=normalized)
