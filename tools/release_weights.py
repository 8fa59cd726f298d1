"""Releases finished runs: a row of results.csv, and weights in the package.

python tools/release_weights.py runs/mnist_mlp_8x128/elu-s0 ...
python tools/release_weights.py --results_only runs/mnist_mlp_8x128/elu-s1 ...

Weights are copied to elu_zoo/weights/files and listed in the manifest; --results_only
adds the rows alone. Run tools/measure_weights.py and tools/results_table.py afterwards.
`elu-zoo-export --push=hf:owner/repo` publishes weights on the Hugging Face Hub.
"""

import shutil
from pathlib import Path

from absl import flags

from elu_zoo import errors, files, results
from elu_zoo.bin import flags as binary
from elu_zoo.evaluation import loss
from elu_zoo.training import result
from elu_zoo.weights import manifest

_ROOT = Path(__file__).resolve().parent.parent
_RESULTS = _ROOT / "configs" / "results" / "results.csv"
_MANIFEST = _ROOT / "elu_zoo/weights/manifest.json"
_WEIGHTS = _MANIFEST.with_name("files")

_RESULTS_ONLY = flags.DEFINE_bool("results_only", False, "Add rows to results.csv only.")


def check_run(workdir: Path, entry: manifest.Entry) -> None:
    """Checks that a run can be reproduced, and that its weights are whole."""
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


def check_statistics(entry: manifest.Entry) -> None:
    """Checks that the package has the statistics of a run."""
    statistics = entry["preprocessing"].get("statistics")
    if statistics and not (_WEIGHTS / f"{statistics}.npz").is_file():
        raise errors.UsageError(
            f"{entry['tag']} needs the statistics {statistics}, which the package does "
            "not have. Set --push=hf:owner/repo of elu-zoo-export to publish both."
        )


def add_to_package(workdir: Path, entry: manifest.Entry) -> None:
    """Copies the weights of a run to the package, and lists them."""
    tag = entry["tag"]
    name = tag + manifest.SUFFIX
    shutil.copyfile(workdir / name, _WEIGHTS / name)
    files.write_json(_WEIGHTS / f"{tag}.json", entry)
    listed = {**manifest.published(), tag: entry}
    files.write_json(_MANIFEST, {"entries": listed})
    manifest.published.cache_clear()


def main(argv: list[str]) -> None:
    runs = {path: result.find(path) for path in map(Path, argv[1:])}
    for path, entry in runs.items():
        if entry is None:
            raise errors.UsageError(f"{path} is not the folder of a finished run.")
    if not runs:
        raise errors.UsageError("Pass the folders of finished runs.")
    for path, entry in runs.items():
        check_run(path, entry)
        if not _RESULTS_ONLY.value:
            check_statistics(entry)
    for path, entry in runs.items():
        results.add(_RESULTS, results.row(path, entry))
        if not _RESULTS_ONLY.value:
            add_to_package(path, entry)
        print(f"{entry['tag']}: {loss.describe(entry['metrics'], 'test_')}")


if __name__ == "__main__":
    binary.binary(main, lambda argv: None)()
