"""The table of experiments: what is chosen, and which runs each of them has."""

import itertools
import types
from pathlib import Path

import numpy as np
import pytest

from elu_zoo import errors
from elu_zoo.paper.experiments import EXPERIMENTS, chosen
from elu_zoo.paper.figures import fig2_mnist_curves, fig6_imagenet_curves
from elu_zoo.paper.run.spec import BUDGETS, Plan
from elu_zoo.training.config import as_dict, differences

TRAINED = [name for name, each in EXPERIMENTS.items() if each.trials]
PAPER = "elu", "relu", "leaky_relu", "shifted_relu"
RATES = "lr 0.01", "lr 0.001", "lr 0.0001", "lr 1e-05"
DEPTHS = "02 layers", "04 layers", "06 layers", "08 layers", "12 layers"


def plan(budget="short", activations=None, seeds=None):
    return Plan(budget, activations, seeds, Path("runs"), imagenet="pictures")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["all"], list(EXPERIMENTS)),
        (["all", "fig2"], list(EXPERIMENTS)),
        (["fig2"], ["fig2"]),
        (["fig7", "fig2", "fig7"], ["fig2", "fig7"]),
        (["fig5"], ["fig4", "fig5"]),
        (["depth", "wilcoxon"], ["fig4", "fig5", "wilcoxon", "depth"]),
    ],
)
def test_what_is_chosen(names, expected):
    assert chosen(names) == expected


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["fig8"], "Unknown experiment 'fig8'. Did you mean 'fig[1-7]'.*Known: fig1"),
        (["fig2", "wilcox"], "Did you mean 'wilcoxon'"),
        (["al"], "Did you mean 'all'"),
        ([], "Name experiments: all, or of fig1, fig2"),
    ],
)
def test_refusals(names, words):
    with pytest.raises(errors.UsageError, match=words):
        chosen(names)


def test_the_papers_order():
    numbered = [name for name in EXPERIMENTS if name.startswith("fig")]
    assert numbered[:6] == ["fig1", "fig2", "fig3", "fig4", "fig5", "fig6"]
    assert "fig7" in numbered


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_whole(name):
    experiment = EXPERIMENTS[name]
    assert experiment.title and experiment.section
    sources = experiment.trials, experiment.compute, experiment.reads or None
    assert any(sources) and not (experiment.trials and experiment.compute)
    assert bool(experiment.trials) == bool(experiment.measure)
    assert bool(experiment.columns) == bool(experiment.trials or experiment.compute)
    assert len(set(experiment.columns)) == len(experiment.columns)
    # `chosen` follows what is read one step, and runs it before.
    before = list(EXPERIMENTS)[: list(EXPERIMENTS).index(name)]
    for read in experiment.reads:
        assert read in before and set(EXPERIMENTS[read].reads) <= {*experiment.reads}


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_runs(name, budget):
    found = EXPERIMENTS[name].trials(plan(budget))
    assert len({tuple(trial.key.values()) for trial in found}) == len(found) > 0
    assert {trial.budget for trial in found} == {budget}
    assert all(trial.load().smoke == (budget == "smoke") for trial in found)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_runs_of_a_seed_are_pairs_one_after_the_other(name, budget):
    """They differ in the unit alone."""
    found = EXPERIMENTS[name].trials(plan(budget))
    groups = [
        (key, list(group))
        for key, group in itertools.groupby(found, lambda t: (t.seed, t.variant))
    ]
    assert len({key for key, _ in groups}) == len(groups)
    for _, (first, *others) in groups:
        config = as_dict(first.load())
        assert others
        for other in others:
            changed = differences(config, as_dict(other.load()))
            units = f"{first.activation!r} -> {other.activation!r}"
            assert changed == [f"model.activation.name: {units}"]
            assert other.observe == first.observe


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("budget", BUDGETS)
def test_activations_and_seeds_are_replaceable(name, budget):
    own = EXPERIMENTS[name].trials(plan(budget))
    found = EXPERIMENTS[name].trials(plan(budget, ("tanh", "elu"), 2))
    variants = dict.fromkeys(trial.variant for trial in own)
    for variant in variants:
        runs = [t for t in found if t.variant == variant]
        seeds = (0, 1) if variant != "paper's schedule" else (0,)
        expected = [(seed, name) for seed in seeds for name in ("tanh", "elu")]
        assert [(t.seed, t.activation) for t in runs] == expected
    assert {t.variant for t in found} == set(variants)


def test_batch_norm_is_all_that_figure_5_adds():
    for budget in BUDGETS:
        plain = EXPERIMENTS["fig4"].trials(plan(budget))
        plain = {(t.activation, t.seed): t for t in plain if not t.variant}
        for trial in EXPERIMENTS["fig5"].trials(plan(budget)):
            pair = plain[trial.activation, trial.seed]
            changed = differences(as_dict(pair.load()), as_dict(trial.load()))
            assert changed == ["model.batch_norm: False -> True"]
            assert trial.observe == pair.observe and trial.batch_norm


@pytest.mark.parametrize("budget", BUDGETS)
def test_noise_and_theory_are_of_the_runs_of_figure_2(budget):
    runs = {t.folder(plan()): t for t in fig2_mnist_curves.trials(plan(budget))}
    for name in ("noise", "theory"):
        for trial in EXPERIMENTS[name].trials(plan(budget)):
            assert runs[trial.folder(plan())] == trial
    assert runs


@pytest.mark.parametrize("budget", BUDGETS)
def test_runs_that_share_a_folder_keep_the_same(budget):
    """Else who trains first decides what the other finds there."""
    kept = {}
    for name in TRAINED:
        for trial in EXPERIMENTS[name].trials(plan(budget)):
            folder = trial.folder(plan())
            assert kept.setdefault(folder, trial.observe) == trial.observe, name


@pytest.mark.parametrize(
    ("name", "budget", "arms", "seeds", "variants", "epochs"),
    [
        ("fig2", "short", (*PAPER, "prelu"), 5, [""], 50),
        ("fig2", "full", (*PAPER, "prelu"), 5, [""], 300),
        ("fig3", "short", PAPER, 5, RATES, 10),
        ("fig3", "full", PAPER, 5, RATES, 500),
        ("fig4", "short", PAPER, 5, [""], 3),
        ("fig4", "full", PAPER, 10, [""], 330),
        ("fig5", "short", ("elu", "relu"), 5, [""], 3),
        ("fig5", "full", PAPER, 10, [""], 330),
        ("fig6", "full", ("elu", "relu"), 1, [""], None),
        ("fig7", "short", ("elu", "relu"), 5, [""], 50),
        ("fig7", "full", ("elu", "relu"), 5, [""], 200),
        ("depth", "short", ("elu", "relu", "leaky_relu"), 5, DEPTHS, 20),
        ("depth", "full", ("elu", "relu", "leaky_relu"), 5, DEPTHS, 40),
        ("noise", "short", (*PAPER, "prelu"), 5, [""], 50),
        ("theory", "short", PAPER, 5, [""], 50),
    ],
)
def test_what_is_run(name, budget, arms, seeds, variants, epochs):
    found = EXPERIMENTS[name].trials(plan(budget))
    found = [trial for trial in found if trial.variant != "paper's schedule"]
    expected = itertools.product(arms, range(seeds), variants)
    assert {(t.activation, t.seed, t.variant) for t in found} == set(expected)
    assert len(found) == len(arms) * seeds * len(variants)
    assert {t.batch_norm for t in found} == {name == "fig5"}
    for trial in found:
        config = trial.load()
        assert epochs is None or config.train.epochs == epochs
        if name == "depth":
            assert trial.variant == f"{config.model.hidden_layers:02} layers"
        if name == "fig3":
            assert config.train.learning_rates == (float(trial.variant[3:]),)


@pytest.mark.parametrize("name", ["fig4", "fig5"])
def test_full_runs_have_the_papers_schedule(name):
    (config, *_) = (t.load() for t in EXPERIMENTS[name].trials(plan("full")))
    assert config.schedule == "paper"
    assert config.train.boundaries == (35_000, 85_000, 135_000)
    for trial in EXPERIMENTS[name].trials(plan("short")):
        expected = "paper" if trial.variant else "fast"
        assert trial.load().schedule == expected


def test_a_pair_of_the_short_budget_has_the_papers_schedule():
    found = [t for t in EXPERIMENTS["fig4"].trials(plan()) if t.variant]
    assert [(t.activation, t.seed) for t in found] == [("elu", 0), ("relu", 0)]
    for trial in found:
        config = trial.load()
        assert (config.train.epochs, config.train.learning_rates) == (7, (0.01,))


def test_the_theory_finds_the_weights_that_it_follows():
    """Of the runs of figure 2: before the first epoch and after the last."""
    for budget in BUDGETS:
        for trial in EXPERIMENTS["theory"].trials(plan(budget)):
            assert {0, trial.load().train.epochs} <= {*trial.observe.snapshots}


def test_a_stand_in_for_imagenet(tmp_path, monkeypatch):
    images, labels = np.zeros((3, 32, 32, 3), "uint8"), np.array([0, 7, 7])
    asked = []

    class Test:
        def first(self, count):
            asked.append(count)
            return types.SimpleNamespace(images=images, labels=labels)

    data = types.SimpleNamespace(test=Test())
    monkeypatch.setattr(fig6_imagenet_curves.load, "load", lambda *_: data)
    smoke = Plan("smoke", None, None, tmp_path)
    for _ in range(2):  # a second time they are there
        for trial in EXPERIMENTS["fig6"].trials(smoke):
            folder = Path(trial.load().data.folder)
    names = sorted(p.relative_to(folder).as_posix() for p in folder.glob("*/*"))
    assert names == ["000/0.png", "007/1.png", "007/2.png"] and asked == [300]
    given = Plan("smoke", None, None, tmp_path, imagenet="mine")
    assert EXPERIMENTS["fig6"].trials(given)[0].load().data.folder == "mine"
    full = Plan("full", None, None, tmp_path)
    assert EXPERIMENTS["fig6"].trials(full)[0].load().data.folder == ""
