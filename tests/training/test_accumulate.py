"""Runs whose batches are computed in parts."""

import pytest

from elu_zoo import errors
from elu_zoo.training import config_checks

# A low rate: rounding grows with every iteration.
SLOW = {"train.learning_rates": (0.002,)}


def test_a_run_in_parts_is_the_same_but_for_rounding(smoke, train, tmp_path, rows):
    for parts in (1, 4):
        train(smoke(SLOW), tmp_path / str(parts), accumulate=parts)
        start = rows(tmp_path / str(parts) / "timing.jsonl")[0]
        assert start["accumulate"] == parts
    whole, cut = (rows(tmp_path / name / "metrics.jsonl") for name in "14")
    for a, b in zip(cut, whole, strict=True):
        assert a["train_loss"] == pytest.approx(b["train_loss"], rel=1e-5)
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], rel=1e-5)
    assert cut != whole


def test_batch_norm_is_of_parts(smoke, train, tmp_path, rows):
    """As the documentation says; its statistics are updated part by part."""
    losses = []
    for parts in (1, 4):
        config = smoke({"train.epochs": 1}, "batch_norm=True")
        workdir = tmp_path / str(parts)
        train(config, workdir, accumulate=parts)
        losses += [row["train_loss"] for row in rows(workdir / "metrics.jsonl")]
    assert 1e-4 < abs(losses[1] / losses[0] - 1) < 0.2


@pytest.mark.parametrize(
    ("size", "replicas", "parts", "words"),
    [
        (64, 1, 3, "multiple of 3: --accumulate=3. Received: 64; take 63 or 66"),
        (64, 2, 6, "of 12: 2 replicas and --accumulate=6. Received: 64; take 60 or 72"),
        (4, 2, 4, "of 8: 2 replicas and --accumulate=4. Received: 4; take 8"),
        (65, 2, 1, "of 2: 2 replicas. Received: 65; take 64 or 66"),
    ],
)
def test_batch_that_parts_cannot_share(smoke, size, replicas, parts, words):
    with pytest.raises(errors.UsageError, match=words + r"\.$"):
        config_checks.check_run(smoke({"train.batch_size": size}), 100, replicas, parts)


@pytest.mark.parametrize("replicas, parts", [(1, 1), (1, 64), (2, 8), (8, 8)])
def test_batch_that_parts_share(smoke, replicas, parts):
    config_checks.check_run(smoke(), 100, replicas, parts)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (0, "accumulate is >= 1. Received: 0"),
        (-4, "accumulate is >= 1. Received: -4"),
        (3, "multiple of 3: --accumulate=3. Received: 64; take 63 or 66"),
    ],
)
def test_a_run_that_cannot_start_leaves_no_folder(smoke, train, tmp_path, parts, words):
    with pytest.raises(errors.UsageError, match=words):
        train(smoke(), tmp_path / "run", accumulate=parts)
    assert not (tmp_path / "run").exists()
