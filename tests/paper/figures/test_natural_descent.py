"""Natural gradient and SGD are compared on random images with learnable classes."""

import dataclasses

import numpy as np
import pytest

from elu_zoo.data import dataset, load
from elu_zoo.paper.figures import natural_gradient
from elu_zoo.paper.plots import figures
from elu_zoo.paper.run.spec import Plan


@pytest.fixture
def plan(tmp_path):
    return Plan("smoke", 2, tmp_path)


@pytest.fixture
def images(monkeypatch):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 10, 1500).astype("int32")
    means = 60 * generator.integers(0, 2, (10, 28, 28, 1))
    pixels = means[labels] + generator.integers(0, 50, (1500, 28, 28, 1))
    split = dataset.Split(pixels.astype("uint8"), labels)
    data = dataset.ImageData("mnist", split, split, split, ("0",) * 10, "", "", "mnist")
    monkeypatch.setattr(load, "load", lambda name, data_dir=None: data)
    return split


@pytest.fixture
def drawn(monkeypatch):
    """Returns a list; each drawn figure appends its rows of panels."""
    found = []
    monkeypatch.setattr(figures, "draw", lambda rows, *_, **__: found.append(rows))
    return found


@pytest.mark.slow
def test_methods_start_from_equal_weights_and_reduce_the_loss(
    plan, images, monkeypatch
):
    monkeypatch.setattr(natural_gradient, "_UNITS", ("elu",))
    rows = natural_gradient.compute(plan)
    runs = {(row["method"], row["seed"]): [] for row in rows}
    for row in rows:
        runs[row["method"], row["seed"]].append(row)
    assert runs.keys() == {(m, s) for m in natural_gradient.RATES for s in (0, 1)}
    for run in runs.values():
        first, last = run
        assert (first["step"], last["step"]) == (0, 10)
        assert last["train_loss"] < first["train_loss"]
    starts = {(row["seed"], row["train_loss"]) for row in rows if row["step"] == 0}
    assert len(starts) == 2


@pytest.mark.parametrize(
    ("activations", "seeds", "covered"),
    [
        (("elu", "relu"), None, True),
        (("elu", "relu"), 1, True),
        (("elu", "relu"), 6, False),
        (("elu",), None, False),
    ],
)
def test_rows_cover_plans_without_new_runs(activations, seeds, covered, tmp_path):
    rows = [
        {"activation": name, "seed": str(s)} for name in activations for s in range(5)
    ]
    plan = Plan("short", seeds, tmp_path)
    assert natural_gradient.EXPERIMENT.covers(plan, rows) == covered


def rows_at_rate(plan, images, activation, method, rate, monkeypatch):
    """Returns the rows of one method at one learning rate."""
    monkeypatch.setattr(natural_gradient, "RATES", {method: (rate, rate)})
    monkeypatch.setattr(natural_gradient, "_UNITS", (activation,))
    return natural_gradient.compute(dataclasses.replace(plan, seeds=1))


def test_a_layer_whose_units_die_does_not_end_the_run(plan, images, monkeypatch):
    # The steps are so large that no ReLU stays active.
    rows = rows_at_rate(plan, images, "relu", "natural gradient", 30.0, monkeypatch)
    assert rows[-1]["step"] == 10


def test_a_run_that_diverges_has_rows_up_to_the_last_step(plan, images, monkeypatch):
    *_, last = rows_at_rate(plan, images, "elu", "SGD", 1e6, monkeypatch)
    assert (last["train_loss"], last["step"]) == (natural_gradient._DIVERGED, 10)


def test_runs_that_diverged_are_counted(drawn):
    rows = [
        {"activation": "elu", "method": method, "rate": "0.1", "seed": str(seed)}
        | {"step": str(step), "train_loss": loss}
        | {"seconds": "0.01" if "1e+09" in run_losses else "1"}
        for method, losses in (
            ("SGD", (("2.5", "1e+09"), ("2.5", "1.5"), ("2.5", "1.7"))),
            ("natural gradient", (("2.5", "1e+09"),)),
        )
        for seed, run_losses in enumerate(losses)
        for step, loss in zip((0, 10), run_losses, strict=True)
    ]
    experiment = natural_gradient.EXPERIMENT
    sgd, natural, difference = experiment.summary(rows).splitlines()[2:]
    assert "| 1.6 ± 0.14 (1 diverged) |" in sgd and "(1 diverged)" in natural
    assert "e+0" not in sgd + natural and "no pair" in difference
    # An iteration takes 1 s / 10 with SGD; no run of the natural gradient has a time.
    assert sgd.endswith(" | 10 | 100 |") and natural.endswith(" | 10 |  |")
    experiment.draw(rows, "stem")
    (((panel,),),) = drawn
    (shown,) = panel.series
    assert np.max(shown.runs) == 2.5 and len(shown.runs) == 2


def test_methods_are_compared_at_equal_iterations_and_equal_time(drawn):
    # In 2 s, "natural gradient" makes 20 steps and "SGD for longer" makes 200 steps.
    curves = {
        "SGD": (2.0, {0: 3.0, 10: 2.0, 20: 1.0}),
        "natural gradient": (2.0, {0: 3.0, 10: 1.0, 20: 0.5}),
        "SGD for longer": (4.0, {0: 3.0, 100: 0.6, 200: 0.2, 400: 0.1}),
    }
    rows = [
        {"activation": "elu", "method": method, "rate": "0.1", "seed": str(seed)}
        | {"step": str(step), "seconds": str(seconds * step / max(losses))}
        | {"train_loss": str(loss + seed / 100)}
        for method, (seconds, losses) in curves.items()
        for seed in range(5)
        for step, loss in losses.items()
    ]
    experiment = natural_gradient.EXPERIMENT
    lines = experiment.summary(rows).splitlines()[2:]
    assert len(lines) == 5 and "| 400 | 10 |" in lines[2]
    assert "| -0.5 (" in lines[3] and "| 20 and 20 |" in lines[3]
    assert "p = 0.062 (n = 5)" in lines[3] and "p = 0.062 (n = 5)" in lines[4]
    assert "| +0.3 (" in lines[4] and "| 20 and 200 |" in lines[4]
    experiment.draw(rows, "stem")
    ((over_steps,), (over_time,)) = drawn[0]
    assert over_time.xlim == (0, 3.06) and over_steps.xlim is None
    assert [list(s.x) for s in over_time.series] == [[0, 1, 2, 4], [0, 1, 2]]


def test_pixels_of_halved_images_are_means_of_4_pixels():
    images = np.arange(2 * 4 * 4, dtype="uint8").reshape(2, 4, 4, 1)
    found = natural_gradient._halved(images)
    expected = [[x[i : i + 2, j : j + 2].mean() / 255 for i in (0, 2) for j in (0, 2)]
                for x in images]  # fmt: skip
    np.testing.assert_allclose(found, expected)
