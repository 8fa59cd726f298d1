"""Theorem 2 along training: k, the incoming means and the bias shift of units."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elu_zoo.analysis import figures
from elu_zoo.analysis.bias_shift import BiasShift, bias_shift
from elu_zoo.analysis.panels import Panel
from elu_zoo.data import sources
from elu_zoo.experiments import frames, mnist_curves, noise
from elu_zoo.experiments.experiment import Experiment, Rows
from elu_zoo.experiments.trial import Plan, Trial
from elu_zoo.training import observing

DAMPING = 0.01
_IMAGES = 2000
_OTHERS = "shift", "mean_length", "positive_share", "effective_draws"
_MEASURES = {
    "k": "k",
    "weighted_mean_length": "length of E_q(a)",
    "uncorrected_shift": "bias shift",
    "correction": "its correction, by the shift",
}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs of figure 2 with the paper's units."""
    arms = plan.arms("elu", "relu", "leaky_relu", "shifted_relu")
    return [t for t in mnist_curves.trials(plan) if t.activation in arms]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns medians over the units behind other units, at each kept epoch."""
    model = noise.trained(workdir)
    data = sources.load("mnist", plan.data_dir).train.first(
        plan.of(500, _IMAGES, _IMAGES)
    )
    images = np.asarray(data.images, np.float32) / 255
    hidden = [x.name for x in model.layers if x.name.startswith("dense")]
    rows = []
    for epoch, weights in observing.read_snapshots(workdir).items():
        model.set_weights(weights)
        found = bias_shift(
            model,
            images,
            labels=data.labels,
            # The first layer's inputs are pixels.
            layers=hidden[1:],
            damping=DAMPING,
            seed=trial.seed,
        )
        rows.append({"epoch": epoch, **_medians(list(found.values()))})
    return rows


def _medians(layers: list[BiasShift]) -> dict[str, float]:
    """Returns medians over all units that have a value; shifts by their size.

    Where deltas are 0 there is none.
    """
    row = {}
    for name in (*_MEASURES, *_OTHERS):
        values = np.concatenate([_values(layer, name) for layer in layers])
        known = values[np.isfinite(values)]
        middle = np.mean if name == "positive_share" else np.median
        row[name] = float(middle(known)) if len(known) else float("nan")
    alive = np.concatenate([layer.delta2 for layer in layers]) > 0
    row["alive"] = float(alive.mean())
    return row


def _values(layer: BiasShift, name: str) -> np.ndarray:
    if name == "correction":
        return abs(layer.shift / layer.uncorrected_shift - 1)
    found = getattr(layer, name)
    return abs(found) if "shift" in name else found


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = [{**row, "epoch": str(int(row["epoch"]) + 1)} for row in rows["theory"]]
    panels = []
    for letter, (name, title) in zip("abcd", _MEASURES.items(), strict=True):
        found = frames.series(own, "epoch", name, summary="quartiles")
        log = {"logx": True, "logy": name != "k"}
        panels.append(Panel(f"{letter}  {title}", "epoch + 1", "", found, **log))
    figures.draw([panels[:2], panels[2:]], stem)


def along_training(rows: Rows, arm: frames.Arm, name: str) -> dict[int, float]:
    """Returns by seed the mean of a measure over the epochs after the first.

    The initial weights are the same for all units.
    """
    return {
        seed: float(np.mean([float(r[name]) for r in _later(own)]))
        for seed, own in frames.of_arm(rows, arm).items()
    }


def _later(rows: Rows) -> Rows:
    return [row for row in rows if row["epoch"] != "0"]


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["theory"], []
    for arm in frames.arms(own):
        names = (*_MEASURES, *_OTHERS[1:])
        found = [along_training(own, arm, name).values() for name in names]
        cells = [frames.spread(list(values)) for values in found]
        lines.append([arm[0], len(frames.of_arm(own, arm)), *cells])
    titles = ("activation", "runs", *_MEASURES.values(), "length of E_p(a)")
    titles += ("positive among large covariances (share)", "effective draws")
    return frames.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Theory: the bias shift along training",
    section="2",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("epoch", *_MEASURES, *_OTHERS, "alive"),
    note=(
        "Of the runs of figure 2, in hidden layers behind other hidden layers, on "
        f"{_IMAGES:,} training images; delta is of labels drawn from the network's own "
        "softmax, the gradient of the given ones. Trained networks have units whose "
        f"Fisher matrix is singular: {DAMPING} is added to the variance of each "
        "incoming activation. Medians over units, shifts by their size; table: means "
        "over the epochs kept after the start. Effective draws are as many as the "
        "images that decide, by their delta^2: late in training few, and k means "
        "little."
    ),
)
