"""`train.keep_best` keeps the weights with the lowest validation loss."""

import signal

import numpy as np
import pytest

from elu_zoo import errors, results

# On 192 digits the validation loss falls until epoch 11, and then rises.
OVERFITTING = {"data.train_examples": 192, "train.epochs": 16, "model.width": 1.0}
OVERFITTING["model.hidden_layers"] = 8
KEPT = OVERFITTING | {"train.keep_best": True}


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory):
    return tmp_path_factory.mktemp("unstopped") / "best"


@pytest.fixture
def best(smoke, train, unstopped):
    """The folder and the entry of a run without stops, which the first test trains."""
    return unstopped, train(smoke(KEPT), unstopped)


@pytest.mark.slow
def test_the_weights_are_those_of_a_run_that_ends_at_the_lowest_loss(
    best, smoke, train, tmp_path, rows
):
    folder, entry = best
    losses = [row["validation_loss"] for row in rows(folder / "metrics.jsonl")]
    assert entry["kept_step"] == 3 * (1 + np.argmin(losses)) < entry["step"]
    epochs = entry["kept_step"] // 3
    shorter = train(smoke(OVERFITTING | {"train.epochs": epochs}), tmp_path / "shorter")
    assert entry["sha256"] == shorter["sha256"]
    assert entry["metrics"] == shorter["metrics"]
    assert entry["metrics"]["validation_loss"] == pytest.approx(min(losses), rel=1e-3)
    assert min(losses) + 0.01 < losses[-1] and "kept_step" not in shorter
    assert results.row(folder, entry)["steps"] == entry["kept_step"]


@pytest.mark.parametrize("iteration", [14, 40])  # before and after the lowest loss
@pytest.mark.slow
def test_a_stopped_run_keeps_the_same_weights(
    best, smoke, train, tmp_path, stop_after, last_arrays, assert_same_bits, iteration
):
    stop_after(iteration, lambda: signal.raise_signal(signal.SIGTERM))
    folder = tmp_path / "stopped"
    with pytest.raises(errors.Interrupted):
        train(smoke(KEPT), folder)
    entry = train(smoke(KEPT), folder)
    assert all(entry[key] == best[1][key] for key in ("sha256", "kept_step"))
    assert_same_bits(last_arrays(folder), last_arrays(best[0]))
