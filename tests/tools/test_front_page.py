"""Generated parts of README.md: table of weights, tally, and the figure."""

import pytest
from pages import overview, weights
from scripts import TOOLS, results_table

from elu_zoo import results

PAPER = results.read_file(TOOLS.parent / "configs/results/paper.csv")


def entry(activation="elu", **changes):
    return {
        "model": "elu_cifar_11",
        "dataset": "cifar100",
        "schedule": "ours",
        "epochs": 30,
        "schedule_share": 1.0,
        "config": {
            "name": "elu_cifar_11-cifar100",
            "train": {"loss": "softmax_cross_entropy"},
        },
        "seed": 0,
        "arguments": {"activation": {"name": activation}, "batch_norm": False},
        "metrics": {"test_error_percent": 35.0},
        "sha256": "0",
    } | changes


WHOLE = {"schedule": "paper", "epochs": 330}
PART = {"schedule": "paper", "epochs": 7, "schedule_share": 0.0212}
SQUARED = {"metrics": {"test_squared_error": 3.1}}
NORMALISED = {"arguments": {"activation": {"name": "elu"}, "batch_norm": True}}


def lines(published, rows=()):
    """Returns the head and the rows of the table of weights."""
    head, _, *rest = weights.table(published, rows, PAPER).splitlines()
    return head, rest


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (
            [entry(), entry("relu")],
            ["cifar100 | 35.00 % | 35.00 % |  |  | our `ours`, 30 epochs |  |"],
        ),
        (
            [entry(**WHOLE), entry("relu", **WHOLE)],
            ["cifar100 | 35.00 % | 35.00 % |  |  | its paper's in full, 330 epochs | "
             "elu 28.75 ± 0.24 %, relu 31.56 ± 0.37 % |"],
        ),
        (
            [entry(**PART)],
            ["cifar100 | 35.00 % |  |  |  | its paper's, 7 epochs (2% of it) | elu "
             "28.75 ± 0.24 % |"],
        ),
        (
            [entry(), entry("relu", **WHOLE)],
            ["cifar100 |  | 35.00 % |  |  | its paper's in full, 330 epochs | relu "
             "31.56 ± 0.37 % |",
             "cifar100 | 35.00 % |  |  |  | our `ours`, 30 epochs |  |"],
        ),
        (
            [entry(dataset="mnist", **SQUARED, **WHOLE)],
            ["mnist | 3.10 squared error |  |  |  | its paper's in full, 330 epochs | "
             "no number |"],
        ),
    ]
)  # fmt: skip
def test_the_table_has_a_row_per_recipe(published, expected):
    assert lines(published)[1] == [f"| `elu_cifar_11` | {row}" for row in expected]


def test_networks_with_and_without_batch_norm_have_separate_rows():
    names = [row.split(" | ")[0] for row in lines([entry(), entry(**NORMALISED)])[1]]
    assert names == ["| `elu_cifar_11`", "| `elu_cifar_11` + batch norm"]


def test_other_activations_get_a_column():
    head, (row,) = lines([entry("prelu")])
    assert head.split(" | ")[-4:-2] == ["shifted_relu", "prelu"]
    assert row.split(" | ")[-4:-2] == ["", "35.00 %"]


@pytest.mark.parametrize(("seeds", "cell"), [((0,), "35.00 %"), ((0, 1, 2), "3.00 ± 1.00 % (3)")])
def test_several_runs_of_a_recipe_have_mean_and_deviation(seeds, cell):
    run = {"model": "elu_cifar_11", "dataset": "cifar100", "batch_norm": "False"}
    run |= {"config": "elu_cifar_11-cifar100", "schedule": "ours"}
    rows = [
        run
        | {"activation": name, "epochs": epochs, "test_error_percent": f"{seed + 2}"}
        | {"sha256": f"{seed}"}
        for seed in seeds
        for name, epochs in (("elu", "30"), ("relu", "30"), ("elu", "3"))
    ]
    assert lines([entry()], rows)[1][0].split(" | ")[2] == cell


def test_runs_without_a_file_are_in_the_row_of_their_recipe():
    run = {"model": "elu_cifar_11", "dataset": "cifar100", "batch_norm": "False"}
    run |= {"config": "elu_cifar_11-cifar100", "schedule": "ours", "epochs": "30"}
    run |= {"activation": "relu", "test_error_percent": "31", "sha256": "1"}
    own = run | {"activation": "elu", "sha256": "0"}
    keys = "config", "model", "dataset", "batch_norm", "schedule", "epochs"
    others = [run | {key: "x"} for key in keys]
    (row,) = lines([entry()], [own, run, *others])[1]
    assert row.split(" | ")[2:5] == ["35.00 %", "31.00 % (`no file`)", ""]
    assert "no file" not in lines([entry()], [run])[1][0]
    runs = own, run, run | {"test_error_percent": "32"}
    assert "| 31.50 ± 0.71 % (2) (`no file`) |" in lines([entry()], runs)[1][0]


def test_networks_without_weights_are_listed():
    assert weights.missing([entry()], ["elu_cifar_11", "nin"]) == "No weights yet: `nin`. "
    assert weights.missing([entry()], ["elu_cifar_11"]) == ""


def test_the_tally_counts_verdicts():
    verdicts = ["mixed", "reproduced", "reproduced", "reproduced in early training"]
    found = results_table.tally([{"verdict": verdict} for verdict in verdicts])
    assert (
        "Of 4 claims of the paper: 2 reproduced, 1 reproduced in early training, 1 mixed. " in found
    )


RUN = {"config": "mnist_mlp_8x128", "activation": "elu", "batch_norm": "False"}
RUN |= {"seed": "0", "epochs": "300", "schedule_share": "1.0"}
RUN |= {"test_error_percent": "2.5"}


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, True),
        ({"config": overview.START, "schedule_share": "0.0303"}, True),
        ({"config": "elu_cifar_11-cifar100-quick3"}, False),
        ({"activation": "tanh"}, False),
        ({"batch_norm": "True"}, False),
        ({"schedule_share": "0.5"}, False),
    ],
)
def test_the_figure_shows_only_the_runs_of_its_panels(changes, shown):
    assert len(overview.points([RUN | changes])) == shown


def test_the_caption_has_the_errors_of_the_start_and_the_end():
    start = RUN | {"config": overview.START, "epochs": "10"}
    rows = [
        start | {"activation": name, "seed": seed, "test_error_percent": error}
        for name, *errors in (("elu", "60", "62"), ("relu", "70", "74"))
        for seed, error in enumerate(errors)
    ]
    end = start | {"config": overview.WHOLE, "activation": "relu", "schedule": "paper"}
    end |= {"model": "elu_cifar_11", "dataset": "cifar100"}
    rows += [end | {"test_error_percent": error} for error in "56"]
    paper = end | {"test_error_percent": "7", "standard_deviation": "0.3"}
    text = overview.caption([RUN, *rows], [paper])
    assert "after 10 epochs ELU is at 61.00 ± 1.41 %, 2 runs." in text
    assert "intervals, by 11.0 points (-1.7 to 23.7) with relu." in text
    whole = "At the end of the whole schedule: relu "
    assert f"{whole}5.50 ± 0.71 % (2 runs; the paper: 7 ± 0.3 %). [The" in text
    rows[-1] |= {"schedule_share": "0.5"}
    text = overview.caption([RUN, *rows], [paper])
    assert f"{whole}5.00 % (1 run, no interval; the paper: 7 ± 0.3 %). [The" in text
    rows[-2] |= {"batch_norm": "True"}
    rows.append(end | {"activation": "prelu"})  # the paper has no number
    text = overview.caption([RUN, *rows], [paper])
    assert "with relu. [The runs" in text


def test_points_are_sorted_by_panel_activation_and_seed():
    shuffled = [
        RUN | {"activation": name, "seed": seed, "config": config}
        for config in (overview.START, "mnist_mlp_8x128")
        for seed in ("10", "2")
        for name in ("prelu", "elu")
    ]
    points = [(r["config"][:5], r["activation"], r["seed"])
              for r in overview.points(shuffled)]  # fmt: skip
    assert points == [
        (config, name, seed)
        for config in ("mnist", "elu_c")
        for name in ("elu", "prelu")
        for seed in ("2", "10")
    ]
