"""Tables of training runs: rows, errors, and the paper's numbers."""

import pytest
from pages import runs
from scripts import TOOLS

from elu_zoo import results

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
    rows = [RUN | {"seed": s, "test_error_percent": s} for s in "23"]
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


@pytest.mark.parametrize(("values", "text"), [([2.5], "2.50"), ([2.0, 3.0], "2.50 ± 0.71")])
def test_spread_is_mean_and_deviation(values, text):
    assert runs.spread(values) == text


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


def test_the_papers_number_needs_the_papers_schedule():
    folder = TOOLS.parent / "configs/results"
    lines = (folder / "runs.md").read_text().splitlines()
    cells = [line.split("|")[1:-1] for line in lines if line.startswith("| ")][1:]
    schedules = {c[7].strip() for c in cells if c[5].strip()[:1].isdigit()}
    assert cells and schedules == {"paper, 140 epochs", "paper, 330 epochs"}


def test_fine_tuned_runs_are_compared_by_seed():
    errors_of = {
        ("cifar100", "elu"): (30, 31, 32),
        ("cifar100", "relu"): (33, 35, 34),
        ("none", "elu"): (60, 60, 63),
    }
    rows = [
        {
            **RUN,
            "config": f"finetune-elu_cifar_11-{weights}-5000@cifar10",
            "activation": activation,
            "seed": str(seed),
            "test_error_percent": str(error),
        }
        for (weights, activation), values in errors_of.items()
        for seed, error in enumerate(values)
    ]
    title, _, row = runs.finetuning_table([{**RUN, "config": "other"}, *rows]).splitlines()
    assert title == (
        "| labels | runs | from cifar100, elu | from cifar100, relu | "
        "from nothing, elu | elu - relu |"
    )
    # The differences are -3, -4 and -2. Their standard deviation is 1, and the quantile
    # of Student's t for two degrees of freedom is 4.303.
    half = 4.30265 / 3**0.5
    assert row == (
        "| 5,000 | 3 | 31.00 ± 1.00 % | 34.00 ± 1.00 % | 61.00 ± 1.73 % | "
        f"-3.00 ({-3 - half:+.2f} to {-3 + half:+.2f}) |"
    )
    assert runs.table(rows[:-1], []).count("\n") == 1


def test_trials_of_image_sizes_are_grouped_by_data_and_size():
    name = "finetune:weights={},activation=elu,{}validation=True,seed={} --data={} --x"
    trials = [
        {"config": name.format(*fields), "validation_error_percent": error}
        for *fields, error in (
            ("cifar100", "image_size=64,", 0, "c_9.npz", "40"),
            ("cifar100", "", 0, "c_9.npz", "30"),
            ("cifar100", "", 1, "c_9.npz", "32"),
            ("none", "", 0, "c_9.npz", "60"),
            ("none", "", 0, "cifar10", "1"),
        )
    ]
    assert runs.sizes_table(trials).splitlines()[2:] == [
        "| c_9.npz | 32 x 32 | 31.00 ± 1.41 % (30.0, 32.0) | 60.00 % (60.0) |",
        "| c_9.npz | 64 x 64 | 40.00 % (40.0) |  |",
    ]
