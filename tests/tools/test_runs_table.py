"""What README.md shows of runs."""

import pytest
from scripts import results_table

from elu_zoo import results

ROW = {
    **dict.fromkeys(results.COLUMNS, ""),
    "dataset": "mnist",
    "activation": "elu",
    "batch_norm": "False",
    "schedule": "paper",
    "epochs": "300",
    "train_loss": "0.5",
    "test_error_percent": "2.5",
}


@pytest.mark.parametrize(
    ("config", "share", "shown"),
    [
        ("mnist_mlp_8x128", "1.0", True),
        ("mnist_mlp_8x128", "0.5", False),
        ("mnist_depth-12", "1.0", False),
        ("finetune-a-none-5@cifar10", "1.0", False),
    ],
)
def test_runs_that_the_table_shows(config, share, shown):
    row = {**ROW, "config": config, "schedule_share": share}
    assert (f"| {config} |" in results_table.table([row], [])) == shown
