"""Theorem 2 along training: k, the incoming means and the bias shift of units."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from elu_zoo.data import load
from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.figures import fig2_mnist_curves, noise
from elu_zoo.paper.plots import figures
from elu_zoo.paper.plots.panels import Panel
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.paper.theory.bias_shift import BiasShift, bias_shift
from elu_zoo.training import recorder

DAMPING = 0.01
# Epochs: about half of the kept ones are early, though most of a run is late.
EARLY, LATE, TRAINED = range(1, 26), range(26, 10**6), range(1, 10**6)
_IMAGES = 2000
_DRAWN = {
    "k": "k",
    "weighted_mean_length": "length of E_q(a)",
    "uncorrected_shift": "bias shift",
    "correction": "its correction, by the shift",
    "cosine": "cosine to natural gradient",
    "effective_draws": "effective draws",
}
_OTHERS = {
    "mean_length": "length of E_p(a)",
    "positive_share": "positive among large covariances (share)",
    "rank_correlation": "correlation of units with shift, of layers",
}
_OVER_DECADES = "weighted_mean_length", "uncorrected_shift", "correction"


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs of figure 2 with the paper's units."""
    arms = plan.arms("elu", "relu", "leaky_relu", "shifted_relu")
    return [t for t in fig2_mnist_curves.trials(plan) if t.activation in arms]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns medians over the units behind other units, at each kept epoch."""
    model = noise.trained(workdir)
    data = load.load("mnist", plan.data_dir).train.first(plan.of(500, _IMAGES, _IMAGES))
    images = np.asarray(data.images, np.float32) / 255
    hidden = [x.name for x in model.layers if x.name.startswith("dense")]
    rows = []
    for epoch, weights in recorder.read_snapshots(workdir).items():
        model.set_weights(weights)
        found = bias_shift(
            model,
            images,
            labels=data.labels,
            # Late in training hardly a label that is drawn differs from the likeliest.
            fisher="expected",
            # The first layer's inputs are pixels.
            layers=hidden[1:],
            damping=DAMPING,
            seed=trial.seed,
        )
        rows.append({"epoch": epoch, **_medians(list(found.values()))})
    return rows


def _medians(layers: list[BiasShift]) -> dict[str, float]:
    """Returns medians over all units that have a value; shifts by their size.

    Of the share of positive covariances it is the mean. Where deltas are 0 there is
    none.
    """
    row = {}
    for name in (*_DRAWN, "mean_length", "positive_share"):
        values = np.concatenate([_values(layer, name) for layer in layers])
        middle = np.mean if name == "positive_share" else np.median
        row[name] = _of_known(middle, values)
    correlations = [layer.input_correlation[0] for layer in layers]
    shifts = [_of_known(np.median, _values(x, "uncorrected_shift")) for x in layers]
    row["rank_correlation"] = _rank_correlation(correlations, shifts)
    alive = np.concatenate([layer.delta2 for layer in layers]) > 0
    row["alive"] = float(alive.mean())
    return row


def _of_known(middle: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(middle(known)) if len(known) else math.nan


def _rank_correlation(one: list[float], other: list[float]) -> float:
    """Returns Spearman's, NaN where it is not known of all layers, or is of one."""
    from scipy import stats

    if len(one) < 2 or not np.isfinite([one, other]).all():
        return math.nan
    return float(stats.spearmanr(one, other).statistic)


def _values(layer: BiasShift, name: str) -> np.ndarray:
    if name == "correction":
        return abs(layer.shift / layer.uncorrected_shift - 1)
    found = getattr(layer, name)
    return abs(found) if "shift" in name else found


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = [{**row, "epoch": str(int(row["epoch"]) + 1)} for row in rows["theory"]]
    panels = []
    for letter, (name, title) in zip("abcdef", _DRAWN.items(), strict=True):
        found = grouping.series(own, "epoch", name, summary="quartiles")
        log = {"logx": True, "logy": name not in ("k", "cosine")}
        panels.append(Panel(f"{letter}  {title}", "epoch + 1", "", found, **log))
    figures.draw([panels[:3], panels[3:]], stem)


def along_training(
    rows: Rows, arm: grouping.Arm, name: str, epochs: range = TRAINED
) -> dict[int, float]:
    """Returns by seed the mean of a measure over the kept epochs of a range.

    It is the geometric mean of what goes over decades, so that one epoch does not
    decide; epochs in which the measure is not known are left out.
    """
    over_decades = name in _OVER_DECADES
    found = {}
    for seed, own in grouping.of_arm(rows, arm).items():
        kept = [row for row in own if int(row["epoch"]) in epochs]
        values = [float(row[name]) for row in kept if row[name]]
        values = [x for x in values if not math.isnan(x)]
        if values:
            mean = np.mean(np.log(values) if over_decades else values)
            found[seed] = float(np.exp(mean) if over_decades else mean)
    return found


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["theory"], []
    for arm in grouping.arms(own):
        names = (*_DRAWN, *_OTHERS)
        found = [along_training(own, arm, name).values() for name in names]
        cells = [grouping.spread(list(values)) for values in found]
        lines.append([arm[0], len(grouping.of_arm(own, arm)), *cells])
    titles = ("activation", "runs", *_DRAWN.values(), *_OTHERS.values())
    return grouping.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Theory: the bias shift along training",
    section="2",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("epoch", *_DRAWN, *_OTHERS, "alive"),
    note=(
        "Of the runs of figure 2, in hidden layers behind other hidden layers, on "
        f"{_IMAGES:,} training images; delta^2 is the expectation over labels of the "
        "network's own softmax, the gradient that of the given ones. Trained networks "
        f"have units whose Fisher matrix is singular: {DAMPING} is added to the "
        "variance of each incoming activation. Medians over units (of the share: "
        "the mean), shifts by their size; table: means over the epochs after which "
        "weights were kept, 1, 2, 5, 10, 25, 50, 100, 200 and 300, as if they were "
        "equally long, geometric ones of lengths, shifts and corrections. The start, "
        "in which units differ the other way, is in the figure alone. Effective draws "
        "are as many as the images that decide, by their delta^2: late in training "
        "few, and a single epoch's numbers mean little then. The last column is "
        "Spearman's, over the layers of a network: the mean correlation of a layer's "
        "incoming units against the bias shift; layers differ by their depth, too."
    ),
)
