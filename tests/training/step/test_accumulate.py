"""Runs with `accumulate`, which computes the gradient of a batch in parts."""

import pytest

from elu_zoo import errors

# The learning rate is low because rounding errors grow with every iteration.
SLOW = {"train.learning_rates": (0.002,)}


def test_losses_do_not_depend_on_the_parts_up_to_rounding(smoke, train, tmp_path, rows):
    for parts in (1, 4):
        config = smoke({**SLOW, "train.epochs": 1})
        train(config, tmp_path / str(parts), accumulate=parts)
        start = rows(tmp_path / str(parts) / "timing.jsonl")[0]
        assert start["accumulate"] == parts
    single, split = (rows(tmp_path / name / "metrics.jsonl") for name in ("1", "4"))
    for a, b in zip(split, single, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-5)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-5)
    assert split != single


@pytest.mark.slow
def test_batch_norm_uses_the_statistics_of_each_part(smoke, train, tmp_path, rows):
    losses = []
    for parts in (1, 4):
        config = smoke({"train.epochs": 1}, "batch_norm=True")
        workdir = tmp_path / str(parts)
        train(config, workdir, accumulate=parts)
        losses += [row["train_loss"] for row in rows(workdir / "metrics.jsonl")]
    assert 1e-4 < abs(losses[1] / losses[0] - 1) < 0.2


def test_parts_that_do_not_divide_the_batch_leave_no_folder(smoke, train, tmp_path):
    with pytest.raises(errors.UsageError, match="--accumulate=3. Received: 64"):
        train(smoke(), tmp_path / "run", accumulate=3)
    assert not (tmp_path / "run").exists()
