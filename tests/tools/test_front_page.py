"""Generated parts of README files: table of weights, counts, and the figure."""

import re

import pytest
from pages import counts, overview, weights
from scripts import TOOLS

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


def lines(published, rows=(), networks=("elu_cifar_11",)):
    """Returns the head, the rows and the last line of the table of weights."""
    table = weights.table(published, rows, PAPER, networks, lambda name: f"../{name}")
    head, _, *rest = table.splitlines()
    return head, [line for line in rest if line.startswith("|")], rest[-1]


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
    head, (row,), _ = lines([entry("prelu")])
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
    ((row,),) = lines([entry()], [own, run, *others])[1:2]
    assert row.split(" | ")[2:5] == ["35.00 %", "31.00 % (`no file`)", ""]
    assert "no file" not in lines([entry()], [run])[1][0]
    runs = own, run, run | {"test_error_percent": "32"}
    assert "| 31.50 ± 0.71 % (2) (`no file`) |" in lines([entry()], runs)[1][0]


def test_networks_without_weights_are_listed():
    last = lines([entry()], networks=("dsn", "elu_cifar_11", "nin"))[2]
    assert last.endswith(" No weights yet: `dsn`, `nin`.")
    assert "No weights" not in lines([entry()])[2]


def test_the_tally_counts_verdicts():
    verdicts = ["mixed", "reproduced", "reproduced", "reproduced in early training"]
    found = counts.tally([{"verdict": verdict} for verdict in verdicts], str)
    assert found.startswith(
        "Of 4 claims of the paper: 2 reproduced, 1 reproduced in early training, 1 mixed. "
    )


def test_the_tally_links_a_section_of_the_report():
    link = re.search(r"\((.*?)#(.*?)\)", counts.tally([], str))
    report = (TOOLS.parent / link[1]).read_text()
    titles = re.findall(r"^## (.*)$", report, re.MULTILINE)
    assert link[2] in [re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles]


def test_reliability_counts_are_summed_over_kinds_of_runs():
    fields = "fault", "what", "tried", "as_promised"
    rows = [
        dict(zip(fields, row, strict=True))
        for row in [
            ("kill", "runs, dense", "3", "2"),
            ("kill", "starts, dense", "7", "7"),
            ("kill", "runs, JAX", "1", "1"),
            ("damage", "files", "5", "5"),
        ]
    ]
    assert counts.reliability(rows) == (
        "- **kill**: runs 3 of 4; starts 7 of 7\n- **damage**: files 5 of 5"
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
    text = overview.caption([RUN, *rows], [paper], str)
    assert "after 10 epochs ELU is at 61.00 ± 1.41 %, 2 runs." in text
    assert "intervals, by 11.0 points (-1.7 to 23.7) with relu." in text
    whole = "At the end of the whole schedule: relu "
    assert f"{whole}5.50 ± 0.71 % (2 runs; the paper: 7 ± 0.3 %). [The" in text
    rows[-1] |= {"schedule_share": "0.5"}
    text = overview.caption([RUN, *rows], [paper], str)
    assert f"{whole}5.00 % (1 run, no interval; the paper: 7 ± 0.3 %). [The" in text
    rows[-2] |= {"batch_norm": "True"}
    rows.append(end | {"activation": "prelu"})  # the paper has no number
    text = overview.caption([RUN, *rows], [paper], str)
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
