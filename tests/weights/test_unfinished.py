"""The errors for a missing path and for the folder of an unfinished run have a remedy."""

import pytest

from elu_zoo import errors
from elu_zoo.weights import pretrained

MODEL = "mnist_mlp_8x128"


def test_a_missing_path_and_a_run_without_weights_get_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        *("runs/my_photos/a.weights.h5", "runs/a/elu-s0/a.weights.h5", "runs/zoo/a.weights.h5"),
        *("runs/zoo/b.weights.h5", "runs/sp/config.json", "runs/c/checkpoints/step-000000999.npy"),
        *("runs/c/checkpoints/step-000000300.npz", "runs/c/checkpoints/step-000000594.npz"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    rows = {
        "runs/my_foto": "mean 'runs/my_photos'.? Weights in runs: my_photos, zoo.$",
        "ruins/a/elu-s0": "mean 'runs'",
        "runs/zoo": "2 weight files; .* Weights in runs/zoo: a.weights.h5, b.weights.h5.$",
        "runs/a": "0 weight files; .* Weights in runs/a: elu-s0.$",
        "runs/sp": "runs/sp is not finished .* trains from the start",
        "runs/c": "runs/c is not finished and has no weights yet. .* 594 .*resumes",
    }
    for find in (pretrained.find, pretrained.check_exists):
        for path, words in rows.items():
            with pytest.raises(errors.UsageError, match=words):
                find(MODEL, path)
