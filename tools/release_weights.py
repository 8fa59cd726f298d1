"""Releases finished runs: weights, entry, card, export, and a row of results.csv.

python tools/release_weights.py runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --push runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --results_only runs/mnist_mlp_8x128/elu-s1 ...

Without --push a release is a dry run: the script writes the files of each release to
dist/weights/<tag> and prints the changes that --push would make. The files are float16
weights, the entry, the model card as README.md, an archive of the exported SavedModel,
and preprocessing statistics that are not in the package.

With --push the script adds the run to results.csv, lists the weights in
elu_zoo/weights/manifest.json and copies them to elu_zoo/weights. Run
tools/measure_weights.py and tools/results_table.py afterwards. `elu-zoo-export
--push=hf:owner/repo` uploads the weights of a run to the Hugging Face Hub.
"""

import shutil
import zlib
from pathlib import Path

from absl import flags

from elu_zoo import errors, files, results
from elu_zoo.bin import flags as binary
from elu_zoo.evaluation import loss
from elu_zoo.export import release as export_release
from elu_zoo.training import result
from elu_zoo.weights import manifest

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "configs" / "results" / "results.csv"
_WEIGHTS = _ROOT / "elu_zoo" / "weights"
# Of compressed weights and statistics. The wheel has 60 MB at most, and other files.
_LIMIT_BYTES = 56_500_000

_RESULTS_ONLY = flags.DEFINE_bool("results_only", False, "Add rows to results.csv only.")
_PUSH = flags.DEFINE_bool("push", False, "Make the changes of the release.")
_OUTPUT = flags.DEFINE_string(
    "output", str(_ROOT / "dist" / "weights"), "Folder for <tag>/, the release files."
)


def _rows() -> list[results.Row]:
    return results.read_file(_RESULTS) if _RESULTS.is_file() else []


def check(runs: dict[Path, manifest.Entry]) -> None:
    """Checks that runs, by the folders of which their entries are given, can be released."""
    for workdir, entry in runs.items():
        _check_run(workdir, entry)
        _check_statistics(entry)
    _check_size(runs)


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


def _check_statistics(entry: manifest.Entry) -> None:
    statistics = entry["preprocessing"].get("statistics")
    if statistics and not (_WEIGHTS / f"{statistics}.npz").is_file():
        raise errors.UsageError(
            f"{entry['tag']} needs the statistics {statistics}, which the package does "
            "not have. Set --push=hf:owner/repo of elu-zoo-export to publish both."
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
            "--push=hf:owner/repo of elu-zoo-export to publish them elsewhere."
        )


def build(workdir: Path, entry: manifest.Entry, folder: Path) -> None:
    """Writes the files of a release into a folder, and replaces older files."""
    ours = {k: str(v) for k, v in results.row(workdir, entry).items()}
    rows = [other for other in _rows() if other["sha256"] != entry["sha256"]]
    rows.append({**dict.fromkeys(results.COLUMNS, ""), **ours})
    weights = workdir / (entry["tag"] + manifest.SUFFIX)
    export_release.write(weights, entry, rows, folder)


def _list(entry: manifest.Entry) -> None:
    tag = entry["tag"]
    files.write_json(_WEIGHTS / f"{tag}.json", entry)
    listed = {**manifest.published(), tag: entry}
    files.write_json(_WEIGHTS / "manifest.json", {"entries": listed})
    manifest.published.cache_clear()


def release(runs: dict[Path, manifest.Entry], output: Path, push: bool) -> list[str]:
    """Builds the files of releases and, with `push`, releases them.

    Args:
        runs: entries by the folders of their runs.
        output: folder for <tag>/, the files of each release.
        push: if False, only the folder `output` is changed.

    Returns:
        Lines that list the changes.
    """
    check(runs)
    lines = []
    for workdir, entry in runs.items():
        build(workdir, entry, output / entry["tag"])
        lines += _changes(entry, output / entry["tag"])
    if not push:
        return [*lines, "This was a dry run; --push makes the changes."]
    for workdir, entry in runs.items():
        results.add(_RESULTS, results.row(workdir, entry))
        name = entry["tag"] + manifest.SUFFIX
        shutil.copyfile(workdir / name, _WEIGHTS / name)
        _list(entry)
    return lines


def _changes(entry: manifest.Entry, folder: Path) -> list[str]:
    is_new = all(old["sha256"] != entry["sha256"] for old in _rows())
    name = entry["tag"] + manifest.SUFFIX
    return [
        f"{entry['tag']}: {loss.describe(entry['metrics'], 'test_')}",
        f"  {folder}: {', '.join(path.name for path in sorted(folder.iterdir()))}",
        f"  configs/results/results.csv: {'a' if is_new else 'no'} new row",
        f"  elu_zoo/weights: {name}, {entry['bytes']} bytes",
        f"  elu_zoo/weights/manifest.json: lists {entry['tag']}",
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
    print("\n".join(release(runs, Path(_OUTPUT.value), _PUSH.value)))


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
