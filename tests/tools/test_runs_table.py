"""Table of training runs: rows, errors, and the paper's numbers."""

import pytest
from pages import cost, runs
from scripts import TOOLS

from elu_zoo import results
from elu_zoo.weights import manifest

RUN = {
    **dict.fromkeys(results.COLUMNS, ""),
    "config": "elu_cifar_11-cifar100",
    "model": "elu_cifar_11",
    "dataset": "cifar100",
    "activation": "relu",
    "batch_norm": "False",
    "schedule": "paper",
    "schedule_share": "1.0",
    "epochs": "300",
    "train_loss": "0.5",
    "test_error_percent": "2.5",
}
LARGE = {"model": "elu_cifar_18", "activation": "elu"}
LARGE["config"] = "elu_cifar_18-cifar100"


@pytest.mark.parametrize(
    ("config", "share", "shown"),
    [
        ("mnist_mlp_8x128", "1.0", True),
        ("mnist_mlp_8x128", "0.5", False),
        ("mnist_depth-12", "1.0", False),
        ("finetune-a-none-5@cifar10", "1.0", False),
    ],
)
def test_the_table_shows_only_whole_schedules(config, share, shown):
    row = RUN | {"config": config, "schedule_share": share}
    assert (f"| {config} |" in runs.table([row], [])) == shown


def test_seeds_of_an_activation_share_a_row():
    rows = [RUN | {"seed": s, "test_error_percent": e} for s, e in ("39", "22", "33")]
    last = runs.table(rows, []).splitlines()[-1]
    assert "| relu | 2 | 2.50 ± 0.71 % |  | 0.5 | paper, 300 epochs |" in last


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([{"test_error_percent": "2.5"}], "2.50 %"),
        ([{"test_error_percent": "2"}, {"test_error_percent": "3"}], "2.50 ± 0.71 %"),
        ([{"test_error_percent": "", "test_squared_error": "4"}], "4.00, squared"),
        (
            [{"test_error_percent": x, "dataset": "cifar10"} for x in ("90.6", "57")],
            "57.00 %; 1 at chance, not trained",
        ),
    ],
)
def test_errors_have_their_unit(rows, text):
    assert runs.error(rows) == text


@pytest.mark.parametrize(
    ("share", "text"), [("1.0", "ours, 24 epochs"), ("0.25", "ours, 24 epochs (25% of it)")]
)
def test_the_share_of_a_shortened_schedule_is_stated(share, text):
    run = {"schedule": "ours", "epochs": "24", "schedule_share": share}
    assert runs.schedule(run) == text


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "31.56 ± 0.37 %"),
        (LARGE, "24.28 %"),
        (LARGE | {"config": LARGE["config"] + "-same"}, ""),
        ({"config": "elu_cifar_11-cifar100-validation"}, ""),
        ({"model": "mnist_mlp_8x128"}, ""),
        ({"dataset": "cifar10"}, ""),
        ({"activation": "tanh"}, ""),
        ({"batch_norm": "True"}, ""),
        ({"schedule": "ours"}, ""),
        ({"schedule_share": "0.0212"}, ""),
    ],
)
def test_the_papers_number_is_of_the_same_experiment(changed, text):
    paper = results.read_file(TOOLS.parent / "configs/results/paper.csv")
    assert runs.papers_error([RUN | changed], paper) == text


def test_the_table_of_costs_is_sorted_by_data_and_operations():
    nin = manifest.published()["nin.cifar100_elu-9e36bb3f"] | {"wall_time_seconds": 90}
    row = {"script": "a.py", "dataset": "cifar100", "pflop": "10", "error_percent": "5"}
    row |= {"seconds": "3", "hardware": "a card"}
    ours, theirs = cost.table([nin | {"dataset": "mnist"}, nin], [row]).splitlines()[2:]
    assert ours.startswith("| `nin`, elu | cifar100 | quick, 30 epochs | 2 | 30.15 % | 1.5 | ")
    assert (
        theirs == "| airbench | cifar100 | theirs | 10 | 5.00 % | 0.05 | a card | `python a.py` |"
    )
