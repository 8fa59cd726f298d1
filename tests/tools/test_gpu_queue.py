"""tools/gpu_queue.py: a kit, runs that stop and go on, and their rows, on a CPU."""

import gpu_files
import gpu_kit
import gpu_queue
import numpy as np
import pytest
from gpu_jobs import Job, read_queue

from elu_zoo import results
from elu_zoo.data import cache, load

LONG = (
    "elu-zoo-train --config=mnist_mlp_8x128:smoke=True,seed=7 --config.data.name="
    "mnist_5k --config.data.train_examples=640 --config.train.epochs=20000"
)
SHORT = "elu-zoo-train --config=quickstart:smoke=True,seed=1 --config.data.measure_test=False"


@pytest.mark.slow
def test_a_packed_data_set_is_equal(tmp_path, monkeypatch):
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "here"))
    monkeypatch.setattr(gpu_kit, "PART_BYTES", 500_000)
    expected = load.load("mnist_5k")
    gpu_kit.pack_data("mnist_5k", tmp_path)
    parts = sorted(tmp_path.glob("mnist_5k.zip.*"))
    assert len(parts) > 1 and max(gpu_kit.size(p) for p in parts) <= 500_000
    monkeypatch.setenv("ELU_ZOO_HOME", str(tmp_path / "there"))
    gpu_kit.main(tmp_path)
    assert cache.newest("mnist_5k-*")
    unpacked = load.load("mnist_5k")
    for split in "train", "validation", "test":
        images = (getattr(data, split).images for data in (unpacked, expected))
        np.testing.assert_array_equal(*images)


def test_the_queue_holds_configs_that_can_be_trained():
    jobs = read_queue(gpu_queue.QUEUE)
    assert len({job.name for job in jobs}) == len(jobs) > 0
    for job in jobs:
        assert job.images() > 0


def test_files_are_split_by_size_and_limited_in_number(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_files, "FILE_BYTES", 35_000)
    output, added = tmp_path / "output", []
    output.mkdir()
    for i in range(6):
        for step in "step-1.npz", "step-2.npz":
            folder = tmp_path / f"run{i}" / "checkpoints"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / step).write_bytes(np.random.default_rng(i).bytes(20_000))
        if i == 0:
            (tmp_path / "run0" / "outcome.json").write_text("{}")
        added.append(gpu_files.add(tmp_path / f"run{i}", output))
    assert added == [True] * 5 + [False] and len(list(output.iterdir())) == 4
    gpu_files.extract(output, tmp_path / "there")
    found = (tmp_path / "there").rglob("step-*")
    last = [f"run{i}/checkpoints/step-2.npz" for i in range(1, 5)]
    assert sorted(str(p.relative_to(tmp_path / "there")) for p in found) == last


@pytest.mark.slow
@pytest.mark.nightly
def test_a_stopped_run_goes_on_and_each_run_has_one_row(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    queue, kit, output = (tmp_path / name for name in ("queue.txt", "kit", "output"))
    here, there, stored = (tmp_path / name for name in ("here", "there", "results"))
    stored.mkdir()
    (kit / "wheels").mkdir(parents=True)
    (kit / "wheels" / "none.whl").touch()
    monkeypatch.setattr(gpu_queue, "STOP_SECONDS", 0)
    queue.write_text(f"# a comment\n{LONG}\n{SHORT}\n")
    gpu_queue.pack(kit, here, stored, queue, 1e6)
    gpu_queue.run(kit, output, 1.0, 2, there)
    gpu_queue.collect(output, here, stored, queue)
    assert [row["config"] for row in results.read_file(stored / "trials.csv")] == [
        Job(SHORT).trained
    ]
    state = here / Job(LONG).name / "checkpoints"
    assert state.is_dir() and not (here / Job(SHORT).name / "checkpoints").exists()
    # On the next machine the stopped run goes on, here to an end that is near.
    queue.write_text(f"{SHORT}\n{LONG}\n")
    gpu_queue.pack(kit, here, stored, queue, 1e6)
    assert (kit / "queue.txt").read_text().count("elu-zoo-train") == 1
    steps = [row["step"] for row in gpu_files.rows(here / Job(LONG).name / "timing.jsonl")]
    gpu_queue.run(kit, tmp_path / "output2", 0.5, 2, tmp_path / "elsewhere")
    gpu_queue.collect(tmp_path / "output2", here, stored, queue)
    more = [row["step"] for row in gpu_files.rows(here / Job(LONG).name / "timing.jsonl")]
    assert more[: len(steps)] == steps and more[-1] > steps[-1]
    assert len(results.read_file(stored / "trials.csv")) == 1
