"""The error for the folder of an unfinished run states the progress of the run."""

import json

import pytest

from elu_zoo import errors
from elu_zoo.weights import pretrained

MODEL = "mnist_mlp_8x128"
START = {"step": 0, "strategy": "one"}


@pytest.mark.parametrize(
    ("starts", "words"),  # rows of timing.jsonl, part of the message
    [
        ([{**START, "iterations": 1620}], "of iteration 594 of 1,620. If no"),
        (
            [{**START, "iterations": 1620}, {"step": 9}, {**START, "iterations": 700}],
            "of iteration 594 of 700",
        ),
        ([START], "of iteration 594. .* run the same command again to res"),
        (None, "of iteration 594"),
    ],
)
def test_the_error_states_the_iterations_of_a_stopped_run(tmp_path, starts, words):
    for step in (300, 594):
        (tmp_path / "checkpoints").mkdir(exist_ok=True)
        (tmp_path / "checkpoints" / f"step-{step:09d}.npz").touch()
    (tmp_path / "checkpoints" / "step-000000999.bak.npz").touch()
    if starts:
        text = "".join(json.dumps(row) + "\n" for row in starts)
        (tmp_path / "timing.jsonl").write_text(text)
    words = f"The run in {tmp_path} is not finished and has no weights yet: .*{words}"
    for find in (pretrained.find, pretrained.check_exists):
        with pytest.raises(errors.UsageError, match=words):
            find(MODEL, str(tmp_path))


def test_a_missing_path_and_a_run_without_weights_get_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/my_photos/a", "runs/a/elu-s0/a", "runs/zoo/a", "runs/zoo/b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.weights.h5").touch()
    (tmp_path / "runs/sp").mkdir()
    (tmp_path / "runs/sp/config.json").touch()
    rows = {
        "runs/my_foto": "mean 'runs/my_photos'.? Weights in runs: a/elu-s0, my_photos.$",
        "runs/b/elu-s0": "mean 'runs/a/elu-s0'",
        "runs/sp": "runs/sp has no weights.* trains from the start",
    }
    for path, words in rows.items():
        with pytest.raises(errors.UsageError, match=words):
            pretrained.check_exists(MODEL, path)
