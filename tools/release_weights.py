"""Releases finished runs: weights, entry, card, export, and a row of results.csv.

python tools/release_weights.py runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --push runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --push --to=hf:owner/repo runs/elu_cifar_18/elu-s0
python tools/release_weights.py --results_only runs/mnist_mlp_8x128/elu-s1 ...

Without --push a release is a dry run: the script writes the files of each release to
dist/weights/<tag> and prints the changes that --push would make. The files are float16
weights, the entry, the model card as README.md, an archive of the exported SavedModel,
and preprocessing statistics that are not in the package.

With --push the script adds the run to results.csv and lists the weights in
elu_zoo/weights/manifest.json. By default it copies the weights to elu_zoo/weights. With
--to it uploads all files to a repository of the Hugging Face Hub in one commit, and
downloads them again before it changes the package. Use one repository per run, because
it has one README.md. Run tools/golden_outputs.py and tools/results_table.py afterwards.
"""

import dataclasses
import importlib.util
import re
import shutil
import tempfile
import zlib
from pathlib import Path

from absl import flags

from elu_zoo import errors, files, results
from elu_zoo.bin import flags as binary
from elu_zoo.evaluation import loss
from elu_zoo.export import release as export_release
from elu_zoo.layers import statistics_file
from elu_zoo.training import result
from elu_zoo.weights import download, manifest

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "configs" / "results" / "results.csv"
_WEIGHTS = _ROOT / "elu_zoo" / "weights"
# Of compressed weights and statistics. The wheel has 60 MB at most, and other files.
_LIMIT_BYTES = 56_500_000

_PACKAGE = "package"
_HUB = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)")

_RESULTS_ONLY = flags.DEFINE_bool("results_only", False, "Add rows to results.csv only.")
_TO = flags.DEFINE_string("to", _PACKAGE, "Destination: package, or hf:owner/repo.")
_PUSH = flags.DEFINE_bool("push", False, "Make the changes of the release.")
_OUTPUT = flags.DEFINE_string(
    "output", str(_ROOT / "dist" / "weights"), "Folder for <tag>/, the release files."
)


def _rows() -> list[results.Row]:
    return results.read_file(_RESULTS) if _RESULTS.is_file() else []


def check(runs: dict[Path, manifest.Entry], to: str) -> None:
    """Checks that runs can be released.

    Args:
        runs: entries by the folders of their runs.
        to: "package" or `hf:owner/repo`.

    Raises:
        UsageError: `to` is wrong, a run is a smoke run, a config changed during the
            run, or statistics are missing.
        ResourceError: the package would be too large.
        CorruptError: a weight file is damaged.
    """
    if to != _PACKAGE:
        _check_hub(to, len(runs))
    for workdir, entry in runs.items():
        _check_run(workdir, entry)
        _check_statistics(entry, to)
    if to == _PACKAGE:
        _check_size(runs)


def _check_hub(to: str, count: int) -> None:
    if not _HUB.fullmatch(to):
        raise errors.UsageError(f"--to must be package or hf:owner/repo. Received: {to!r}.")
    if count > 1:
        raise errors.UsageError(
            f"{to} must have one run, because its README.md is the model card of one "
            f"run. Received: {count} runs."
        )
    if importlib.util.find_spec("huggingface_hub") is None:
        raise errors.UsageError(f'--to={to} needs huggingface_hub. Run: pip install "elu-zoo[hub]"')


def _check_run(workdir: Path, entry: manifest.Entry) -> None:
    if entry["config"]["smoke"]:
        raise errors.UsageError(f"{workdir} is a smoke run; it cannot be released.")
    if "config_changes" in entry:
        raise errors.UsageError(
            f"The config of {workdir} changed during the run, so that no config "
            "reproduces the weights. Train again with one config."
        )
    path = workdir / (entry["tag"] + manifest.SUFFIX)
    if files.sha256(path) != entry["sha256"]:
        raise errors.CorruptError(
            f"{path} is damaged: its SHA-256 is not that of its entry, "
            f"{entry['sha256']}. Train again into another folder."
        )


def _check_statistics(entry: manifest.Entry, to: str) -> None:
    statistics = entry["preprocessing"].get("statistics")
    if to != _PACKAGE:
        _statistics(entry)  # raises if the file to upload is missing
    elif statistics and not (_WEIGHTS / f"{statistics}.npz").is_file():
        raise errors.UsageError(
            f"{entry['tag']} needs the statistics {statistics}, which the package does "
            "not have. Set --to=hf:<owner>/<repo> to release both to a repository."
        )


def _check_size(runs: dict[Path, manifest.Entry]) -> None:
    new = {entry["tag"] + manifest.SUFFIX: path for path, entry in runs.items()}
    paths = [p for kind in ("*" + manifest.SUFFIX, "*.npz") for p in _WEIGHTS.glob(kind)]
    paths = [p for p in paths if p.name not in new]
    paths += [folder / name for name, folder in new.items()]
    # A wheel compresses each file by deflate.
    size = sum(len(zlib.compress(path.read_bytes())) for path in paths)
    if size > _LIMIT_BYTES:
        raise errors.ResourceError(
            f"With {', '.join(new)} the package would have {size} bytes of compressed "
            f"weights and statistics; {_LIMIT_BYTES} is the limit. Set "
            "--to=hf:owner/repo to release to a repository."
        )


def _statistics(entry: manifest.Entry) -> Path | None:
    """Returns the statistics file of an entry, or None if the package has the file.

    Raises:
        NotFoundError: the file is not on this machine.
    """
    name = entry["preprocessing"].get("statistics")
    if not name or (_WEIGHTS / f"{name}.npz").is_file():
        return None
    return statistics_file.find(name, "mean" if "_mean-" in name else "zca")


def published(entry: manifest.Entry, to: str) -> manifest.Entry:
    """Returns the manifest entry of a run, with the sources for downloads."""
    known = manifest.published().get(entry["tag"], entry)["sources"]
    new = [] if to == _PACKAGE else [to]
    return {**entry, "sources": list(dict.fromkeys([*known, *new]))}


def build(workdir: Path, entry: manifest.Entry, folder: Path) -> None:
    """Writes the files of a release into a folder, and replaces older files."""
    ours = {k: str(v) for k, v in results.row(workdir, entry).items()}
    rows = [other for other in _rows() if other["sha256"] != entry["sha256"]]
    rows.append({**dict.fromkeys(results.COLUMNS, ""), **ours})
    weights = workdir / (entry["tag"] + manifest.SUFFIX)
    export_release.write(weights, entry, rows, folder, _statistics(entry))


def upload(folder: Path, entry: manifest.Entry, to: str) -> None:
    """Uploads the files of a release in one commit, and downloads them again.

    Raises:
        ResourceError: the hub refused the files, or returned different files.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    # upload_folder is not used, because it may split a folder into several commits.
    operations = [CommitOperationAdd(p.name, p) for p in sorted(folder.iterdir())]
    repository = _HUB.fullmatch(to)["repository"]
    try:
        api = HfApi()
        api.create_repo(repository, exist_ok=True)
        api.create_commit(repository, operations, commit_message=f"Release {entry['tag']}")
    # Versions of huggingface_hub raise errors of different HTTP libraries.
    except Exception as error:
        raise errors.ResourceError(
            f"{to} did not accept the files: {' '.join(str(error).split())} Log in by "
            "`hf auth login`, or set $HF_TOKEN."
        ) from error
    with tempfile.TemporaryDirectory() as scratch:
        for file in download.files_of(entry):
            if (folder / file.name).is_file():
                from_hub = {"folder": Path(scratch), "sources": (to,)}
                download.download(dataclasses.replace(file, **from_hub))


def _list(entry: manifest.Entry) -> None:
    tag = entry["tag"]
    if (_WEIGHTS / (tag + manifest.SUFFIX)).is_file():
        files.write_json(_WEIGHTS / f"{tag}.json", entry)
    listed = {**manifest.published(), tag: entry}
    files.write_json(_WEIGHTS / "manifest.json", {"entries": listed})
    manifest.published.cache_clear()


def release(runs: dict[Path, manifest.Entry], to: str, output: Path, push: bool) -> list[str]:
    """Builds the files of releases and, with `push`, releases them.

    Args:
        runs: entries by the folders of their runs.
        to: "package" or `hf:owner/repo`.
        output: folder for <tag>/, the files of each release.
        push: if False, only the folder `output` is changed.

    Returns:
        Lines that list the changes.
    """
    check(runs, to)
    runs = {workdir: published(entry, to) for workdir, entry in runs.items()}
    lines = []
    for workdir, entry in runs.items():
        build(workdir, entry, output / entry["tag"])
        lines += _changes(entry, output / entry["tag"], to)
    if not push:
        return [*lines, "This was a dry run; --push makes the changes."]
    for workdir, entry in runs.items():
        if to != _PACKAGE:
            upload(output / entry["tag"], entry, to)
        results.add(_RESULTS, results.row(workdir, entry))
        if to == _PACKAGE:
            name = entry["tag"] + manifest.SUFFIX
            shutil.copyfile(workdir / name, _WEIGHTS / name)
        _list(entry)
    return lines


def _changes(entry: manifest.Entry, folder: Path, to: str) -> list[str]:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    is_new = all(old["sha256"] != entry["sha256"] for old in _rows())
    row = "a new row" if is_new else "no new row"
    name = entry["tag"] + manifest.SUFFIX
    if to == _PACKAGE:
        destination = f"elu_zoo/weights: {name}, {entry['bytes']} bytes"
    else:
        destination = f"{to}: {len(sizes)} files, {sum(sizes.values())} bytes"
    sources = ", ".join(entry["sources"]) or "no download source"
    return [
        f"{entry['tag']}: {loss.describe(entry['metrics'], 'test_')}",
        f"  {folder}: {', '.join(sizes)}",
        f"  configs/results/results.csv: {row}",
        f"  {destination}",
        f"  elu_zoo/weights/manifest.json: lists {entry['tag']}, {sources}",
    ]


def main(argv: list[str]) -> None:
    runs = {path: result.find(path) for path in map(Path, argv[1:])}
    for path, entry in runs.items():
        if entry is None:
            raise errors.UsageError(f"{path} is not the folder of a finished run.")
    if not runs:
        raise errors.UsageError("Pass the folders of finished runs.")
    if _RESULTS_ONLY.value:
        for path, entry in runs.items():
            _check_run(path, entry)
        for path, entry in runs.items():
            results.add(_RESULTS, results.row(path, entry))
            print(f"{entry['tag']}: {loss.describe(entry['metrics'], 'test_')}")
        return
    print("\n".join(release(runs, _TO.value, Path(_OUTPUT.value), _PUSH.value)))


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
