"""Experiments are selected by name, and have the expected runs."""

import itertools
from pathlib import Path

import pytest

from elu_zoo import errors
from elu_zoo.pairs.spec import BUDGETS, Plan
from elu_zoo.paper import names as experiment_names
from elu_zoo.paper.experiments import EXPERIMENTS, chosen
from elu_zoo.paper.figures import fig2_mnist_curves
from elu_zoo.training.config import as_dict, differences

TRAINED = [name for name, each in EXPERIMENTS.items() if each.trials]
PAPER = "elu", "relu", "leaky_relu", "shifted_relu"
RATES = "lr 0.01", "lr 0.001", "lr 0.0001", "lr 1e-05"
SETTINGS = *RATES, "lr 0.01 mean", "lr 0.01 mean squared"
DEPTHS = "02 layers", "04 layers", "06 layers", "08 layers", "12 layers"


def plan(budget="short", seeds=None):
    return Plan(budget, seeds, Path("runs"), imagenet="pictures")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["all"], list(EXPERIMENTS)),
        (["all", "fig2"], list(EXPERIMENTS)),
        (["fig7", "fig2", "fig7"], ["fig2", "fig7"]),
        (["fig5"], ["fig4", "fig5"]),
    ],
)
def test_chosen_experiments_include_the_experiments_they_read(names, expected):
    assert chosen(names) == expected


def test_a_missing_package_raises_an_error(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "scipy" else name)
    with pytest.raises(errors.UsageError, match="scipy.*pip install"):
        experiment_names.check(["depth"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_fields_of_an_experiment_are_consistent(name):
    experiment = EXPERIMENTS[name]
    assert bool(experiment.trials) != bool(experiment.compute)
    assert bool(experiment.trials) == bool(experiment.measure)
    assert experiment.columns and len(set(experiment.columns)) == len(experiment.columns)
    # `chosen` adds direct reads only, so that `reads` must include the reads of reads.
    before = list(EXPERIMENTS)[: list(EXPERIMENTS).index(name)]
    for read in experiment.reads:
        assert read in before and set(EXPERIMENTS[read].reads) <= {*experiment.reads}


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_runs_of_a_seed_differ_in_the_activation_only(name, budget):
    trials = EXPERIMENTS[name].trials(plan(budget))
    assert len({tuple(trial.key.values()) for trial in trials}) == len(trials) > 0
    groups = [
        (key, list(group))
        for key, group in itertools.groupby(trials, lambda t: (t.seed, t.variant))
    ]
    assert len({key for key, _ in groups}) == len(groups)
    for _, (first, *others) in groups:
        config = first.load()
        assert first.budget == budget and config.smoke == (budget == "smoke")
        assert others
        for other in others:
            changed = differences(as_dict(config), as_dict(other.load()))
            change = f"{first.activation!r} -> {other.activation!r}"
            assert changed == [f"model.activation.name: {change}"]
            assert (other.observers, other.budget) == (first.observers, budget)


def test_runs_of_figure_5_differ_from_figure_4_in_batch_norm_only():
    for budget in BUDGETS:
        without_bn = EXPERIMENTS["fig4"].trials(plan(budget))
        without_bn = {(t.activation, t.seed): t for t in without_bn}
        for trial in EXPERIMENTS["fig5"].trials(plan(budget)):
            pair = without_bn[trial.activation, trial.seed]
            changed = differences(as_dict(pair.load()), as_dict(trial.load()))
            assert changed == ["model.batch_norm: False -> True"]
            assert trial.observers == pair.observers and trial.batch_norm


@pytest.mark.parametrize("budget", BUDGETS)
def test_theory_measures_runs_of_figure_2(budget):
    runs = {t.folder(plan()): t for t in fig2_mnist_curves.trials(plan(budget))}
    for trial in EXPERIMENTS["theory"].trials(plan(budget)):
        assert runs[trial.folder(plan())] == trial


@pytest.mark.parametrize("budget", BUDGETS)
def test_runs_with_the_same_folder_have_equal_recordings(budget):
    recordings = {}
    for name in TRAINED:
        for trial in EXPERIMENTS[name].trials(plan(budget)):
            folder = trial.folder(plan())
            assert recordings.setdefault(folder, trial.observers) == trial.observers, name


@pytest.mark.parametrize(
    ("name", "budget", "arms", "seeds", "variants", "epochs"),
    [
        ("fig2", "short", (*PAPER, "prelu"), 5, [""], 50),
        ("fig2", "full", PAPER[:3], 20, [""], 300),
        ("fig3", "full", PAPER, 5, SETTINGS, 500),
        ("fig4", "short", PAPER, 5, ["first 10 epochs"], 10),
        ("fig4", "full", PAPER, 10, [""], 330),
        ("fig5", "short", ("elu", "relu"), 5, ["first 10 epochs"], 10),
        ("fig5", "full", PAPER, 10, [""], 330),
        ("fig6", "full", ("elu", "relu"), 1, [""], None),
        ("fig7", "short", ("elu", "relu"), 5, [""], 50),
        ("depth", "short", ("elu", "relu", "leaky_relu"), 5, DEPTHS, 20),
        ("depth", "full", ("elu", "relu", "leaky_relu"), 20, DEPTHS, 40),
        ("gradients", "full", ("elu", "relu", "tanh", "sigmoid"), 5, [""], 5),
    ],
)
def test_each_budget_has_its_runs(name, budget, arms, seeds, variants, epochs):
    trials = EXPERIMENTS[name].trials(plan(budget))
    if (name, budget) == ("fig2", "full"):
        ours = {(t.activation, t.seed) for t in trials if t.activation not in arms}
        assert ours == set(itertools.product(("shifted_relu", "prelu"), range(5)))
        trials = [trial for trial in trials if trial.activation in arms]
    expected = itertools.product(arms, range(seeds), variants)
    assert {(t.activation, t.seed, t.variant) for t in trials} == set(expected)
    assert len(trials) == len(arms) * seeds * len(variants)
    assert {t.batch_norm for t in trials} == {name == "fig5"}
    for trial in trials:
        config = trial.load()
        assert epochs is None or config.train.epochs == epochs
        assert config.schedule == ("ours" if name == "depth" else "paper")
        if name == "depth":
            assert trial.variant == f"{config.model.hidden_layers:02} layers"
        if name == "fig3":
            _, rate, *mean = trial.variant.split()
            of_sum = float(rate) / (1, 784, 392)[len(mean)]
            assert config.train.learning_rates == pytest.approx([of_sum], rel=1e-5)


def test_the_first_and_the_last_epoch_have_snapshots():
    for budget in BUDGETS:
        for trial in EXPERIMENTS["theory"].trials(plan(budget)):
            assert {0, trial.load().train.epochs} <= {*trial.observers[1].epochs}
