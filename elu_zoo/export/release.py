"""The files of a release: weights, their entry, the model card, the exported model."""

import gzip
import os
import shutil
import tarfile
import tempfile
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
            have no entry, no test error or are of a smoke run.
        NotFoundError: there are no weights, or no statistics that they need.
        CorruptError: a file is damaged.
        ResourceError: the hub did not accept the files.
        OSError: there is no room for temporary files.

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
    statistics = [file.find() or fetch.get(file) for file in fetch.files_of(entry)[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copyfile(path, folder / (entry["tag"] + manifest.SUFFIX))
        for file in statistics:
            shutil.copyfile(file, folder / file.name)
        text = card.text(entry, results.read("results.csv"), front_matter=True)
        shown = text.replace(f'"{entry["tag"]}{manifest.SUFFIX}"', f'"{to}"')
        files.write_bytes(folder / "README.md", shown.encode())
        _export(entry, folder)
        commit = hub.upload(folder, to, f"Release {entry['tag']}")
    return f"{to}@{commit}"


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
