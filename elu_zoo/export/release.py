"""The files of a release: weights, their entry, the model card, the exported model."""

import gzip
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from elu_zoo import files, zoo
from elu_zoo.export import models_config, origin, predictor
from elu_zoo.export.saved_model import export_saved_model
from elu_zoo.weights import cards, manifest, pretrained


def write(
    weights: Path,
    entry: manifest.Entry,
    rows: Sequence[dict[str, str]],
    folder: Path,
    statistics: Path | None = None,
) -> None:
    """Writes the files of a release into a folder, instead of what is there.

    They are `<tag>.weights.h5`, `<tag>.json`, `README.md` with the hub's front matter,
    `<tag>.tar.gz` with the SavedModel as `<model>/1/`, and the statistics.

    Args:
        weights: the float16 weight file of a finished run.
        entry: its entry, as it is published.
        rows: of configs/results/results.csv, with that of the run.
        folder: made anew; it is whole, or not there.
        statistics: the file of those that the entry names, where it is released too.

    Raises:
        CorruptError: the entry lacks what its card needs, or is not of these weights.
        ResourceError: the disk refused.
    """
    card = cards.text(entry, rows, front_matter=True)
    tag, name = entry["tag"], entry["model"]
    shutil.rmtree(folder, ignore_errors=True)
    with files.new_directory(folder) as new:
        path = new / (tag + manifest.SUFFIX)
        shutil.copyfile(weights, path)
        files.write_json(new / f"{tag}.json", entry)
        files.write_bytes(new / "README.md", card.encode())
        if statistics:
            shutil.copyfile(statistics, new / statistics.name)
        found = pretrained.find(name, path)
        model = zoo.get_model(name, weights=found)
        described = predictor.description(model, name, found)
        with tempfile.TemporaryDirectory() as scratch:
            export_saved_model(
                model,
                scratch,
                name=name,
                source=origin.of_weights(found),
                version=1,
                **described,
            )
            # It lists the models of one folder, of which another machine has its own.
            Path(scratch, models_config.NAME).unlink()
            archive(Path(scratch), new / f"{tag}.tar.gz")


def archive(folder: Path, target: Path) -> None:
    """Packs what a folder holds: equal contents make equal bytes, whoever packs them.

    Args:
        folder: what it holds lies at the top of the archive.
        target: `*.tar.gz`.
    """

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
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
            tar.add(path, path.relative_to(folder), recursive=False, filter=plain)
