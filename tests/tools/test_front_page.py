"""Generated parts of README.md: tables of weights and of ELU - ReLU, and the tally."""

import pytest
from pages import units, weights, worth
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
        "config": {"name": "elu_cifar_11-cifar100", "train": {"loss": "softmax_cross_entropy"}},
        "seed": 0,
        "arguments": {"activation": {"name": activation}, "batch_norm": False},
        "metrics": {"test_error_percent": 35.0},
        "sha256": "0",
    } | changes


WHOLE = {"schedule": "paper", "epochs": 330}
PART = {"schedule": "paper", "epochs": 7, "schedule_share": 0.0212}
SQUARED = {"metrics": {"test_squared_error": 3.1}}
NORMALISED = {"arguments": {"activation": {"name": "elu"}, "batch_norm": True}}


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        (  # the network's own activation, and `quick` before the paper's schedule
            [entry("relu", schedule="quick"), entry(**WHOLE), entry(schedule="quick", epochs=9)],
            ["cifar100 | elu | 35.00 % | our `quick`, 9 epochs | relu 1, elu 2 |"],
        ),
        (
            [entry("relu", **WHOLE), entry("prelu", **PART)],
            ["cifar100 | relu | 35.00 % | its paper's in full, 330 epochs | relu 1, prelu 1 |"],
        ),
        (
            [entry(**NORMALISED), entry(dataset="mnist", **SQUARED, **PART)],
            ["cifar100 | elu_bn | 35.00 % | our `ours`, 30 epochs | elu_bn 1 |",
             "mnist | elu | 3.10 squared error | its paper's, 7 epochs (2% of it) | elu 1 |"],
        ),
    ]
)  # fmt: skip
def test_the_table_has_a_row_per_network_and_data_set(published, expected):
    _, _, *lines = weights.table(published, ()).splitlines()
    assert lines == [f"| `elu_cifar_11` | {row}" for row in expected]


@pytest.mark.parametrize(
    ("seeds", "cell"), [((0,), "35.00 %"), ((0, 1, 2), "3.00 ± 1.00 % (3 runs)")]
)
def test_several_runs_of_a_recipe_have_mean_and_deviation(seeds, cell):
    run = {"model": "elu_cifar_11", "dataset": "cifar100", "batch_norm": "False"}
    run |= {"config": "elu_cifar_11-cifar100", "schedule": "ours"}
    rows = [
        run
        | {"activation": name, "epochs": epochs, "test_error_percent": f"{seed + 2}"}
        | {"sha256": f"{seed}", "seed": f"{seed}"}
        for seed in seeds
        for name, epochs in (("elu", "30"), ("relu", "30"), ("elu", "3"))
    ]
    assert f"| elu | {cell} | our" in weights.table([entry()], rows)


def test_networks_without_weights_are_listed():
    assert weights.missing([entry()], ["elu_cifar_11", "nin"]) == "No weights yet: `nin`."
    assert weights.missing([entry()], ["elu_cifar_11"]) == ""


def test_the_tally_counts_verdicts():
    verdicts = ["mixed", "reproduced", "reproduced", "reproduced in early training"]
    found = results_table.tally([{"verdict": verdict} for verdict in verdicts])
    assert (
        "Of 4 claims of the paper: 2 reproduced, 1 reproduced in early training, 1 mixed. " in found
    )


def run(unit, seed, error, **changes):
    row = {"config": "elu_cifar_11-cifar100", "model": "elu_cifar_11", "dataset": "cifar100"}
    row |= {"batch_norm": "False", "schedule": "paper", "epochs": "330", "schedule_share": "1.0"}
    row |= {"activation": unit, "seed": seed, "test_error_percent": error}
    return row | changes


def worth_lines(rows):
    """Returns the rows of the table of ELU - ReLU but the last, the comparison's."""
    names = "activation", "factor", "seed", "error"
    compared = [
        dict(zip(names, values, strict=True))
        for factor, errors in (("1", ("3", "9")), ("4", ("2", "1.5")))
        for values in zip(("elu", "relu"), (factor,) * 2, "00", errors, strict=True)
    ]
    *others, last = worth.table(rows, {", x": compared}, PAPER).splitlines()[2:]
    assert "60 epochs, x |" in last
    assert last.endswith("| 1 | 2.00 % | 1.50 % | **+0.50** |  |")  # at the best factors
    return others


def test_units_are_compared_in_pairs_of_one_recipe():
    rows = [run("elu", seed, e) for seed, e in (("0", "30"), ("1", "28"), ("2", "10"))]
    rows += [run("relu", seed, e) for seed, e in (("1", "30"), ("0", "31"))]
    rows += [run("elu", "0", "1", epochs="10"), run("relu", "7", "1", epochs="10")]
    rows += [run("relu", "0", "1", batch_norm="True"), run("relu", "2", "", epochs="3")]
    rows += [run("relu", "2", "99.0")]  # at chance
    rows += [run("relu", "0", "1", backend="jax")]  # of the same seed
    (line,) = worth_lines(rows)
    # The mean of -1 and -2; half of the interval is 12.706 * sqrt(1 / 2) / sqrt(2).
    assert line == (
        "| `elu_cifar_11` | cifar100 | paper, 330 epochs | 2 | 29.00 ± 1.41 % | 30.50 ± 0.71 % "
        "| **-1.50** (-7.85 to +4.85) | 28.75 ± 0.24 %, 31.56 ± 0.37 % |"
    )


def test_one_pair_has_no_interval_and_parents_have_their_own_line():
    config, ours = "finetune-elu_cifar_11-cifar100-500@cifar10", {"schedule": "ours"}
    rows = [run(unit, "0", "20", config=config, **ours) for unit in ("elu", "relu")]
    rows += [run(unit, "0", "40", config="elu_cifar_11-x", **ours) for unit in ("elu", "relu")]
    tuned, plain = worth_lines(rows)
    assert "fine-tuned from one cifar100 file per activation, 500 images | 1 | 20.00 %" in tuned
    assert plain.endswith("| ours, 330 epochs, x | 1 | 40.00 % | 40.00 % | **+0.00** |  |")


def test_activations_have_their_verdicts_at_the_best_rate():
    lower = [-0.3, -0.31, -0.29, -0.3, -0.28]
    shifts = {"elu": [0.0] * 5, "near": [-0.1, 0.1, 0, 0.2, -0.2], "good": lower, "late": lower}
    rows = [
        {"activation": unit, "factor": factor, "seed": seed, "error": f"{base + seed + shift:.6g}"}
        for unit, values in shifts.items()
        for factor, base in (("1", 9), ("4", 1.0))
        for seed, shift in enumerate(values)
    ]
    rows[-1]["error"] = ""  # diverged
    assert units.summary(rows) == (
        "4 activations, 5 runs each at their best tried rates, against elu (3 ± 1.6 %): "
        "**lower error** good; **cannot be told apart** near; **not tested (a run failed)** late."
    )
