"""Runs that split batches into parts."""

import pytest

from elu_zoo import errors

# A low rate: rounding grows with every iteration.
SLOW = {"train.learning_rates": (0.002,)}


def test_losses_are_equal_up_to_rounding(smoke, train, tmp_path, rows):
    for parts in (1, 4):
        config = smoke({**SLOW, "train.epochs": 1})
        train(config, tmp_path / str(parts), accumulate=parts)
        start = rows(tmp_path / str(parts) / "timing.jsonl")[0]
        assert start["accumulate"] == parts
    whole, cut = (rows(tmp_path / name / "metrics.jsonl") for name in "14")
    for a, b in zip(cut, whole, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-5)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-5)
    assert cut != whole


@pytest.mark.slow
def test_batch_norm_uses_the_statistics_of_a_part(smoke, train, tmp_path, rows):
    losses = []
    for parts in (1, 4):
        config = smoke({"train.epochs": 1}, "batch_norm=True")
        workdir = tmp_path / str(parts)
        train(config, workdir, accumulate=parts)
        losses += [row["train_loss"] for row in rows(workdir / "metrics.jsonl")]
    assert 1e-4 < abs(losses[1] / losses[0] - 1) < 0.2


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (0, "accumulate is an integer >= 1. Received: 0"),
        (
            3,
            "of 3, because of --accumulate=3. Received: 64. Set it to 63 or 66",
        ),
    ],
)
def test_a_run_that_cannot_start_leaves_no_folder(smoke, train, tmp_path, parts, words):
    with pytest.raises(errors.UsageError, match=words):
        train(smoke(), tmp_path / "run", accumulate=parts)
    assert not (tmp_path / "run").exists()
