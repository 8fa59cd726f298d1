"""Theorem 2 along training: k, mean incoming activations and the bias shift."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from elu_zoo import zoo
from elu_zoo.data import load
from elu_zoo.pairs import grouping, palette, plots
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Read, Values, difference, mean_value
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import fig2_mnist_curves
from elu_zoo.paper.theory.bias_shift import BiasShift, bias_shift
from elu_zoo.training import result
from elu_zoo.training.record import observers

_DAMPING = 0.01
# Ranges of epochs. About half of the snapshots are early.
_PHASES = {"early": range(1, 26), "late": range(26, 10**6)}
_TRAINED = range(1, 10**6)
_IMAGES = 2000
_DRAWN = {  # columns of the figure
    "k": "k of Theorem 2",
    "weighted_mean_length": "length of E_q(a)",
    "uncorrected_shift": "bias shift",
    "correction": "correction / bias shift",
    "cosine": "cosine to natural gradient",
    "effective_draws": "effective images",
}
_OTHERS = {  # further columns of the claims
    "mean_length": "length of E_p(a)",
    "positive_share": "positive share of large covariances",
    "rank_correlation": "rank correlation of unit correlation and shift",
}
_UNITS = "elu", "relu", "leaky_relu"
_OURS = ("shifted_relu",)  # the paper argues about ReLU, leaky ReLU and PReLU
# The paper's argument: a smaller value in one column makes the next column smaller.
_CHAIN = "mean_length", "weighted_mean_length", "correction"
# Columns with values over several decades, whose means over epochs are geometric.
_OVER_DECADES = "weighted_mean_length", "uncorrected_shift", "correction"
# Names of a claim and its tests, section and sentence of the paper; a column, the limit
# that the column exceeds if the sentence holds, and what is measured.
_ABOVE = (
    ("k-grows-with-length", "k-grows-with-length", "2",
     "k increases with the length of E_q(a) for given variances and covariances.",
     "k", 1,
     "k, mean over epochs, {}; k - 1 is proportional to the length of E_q(a) in a given "
     "direction, so that k increases with it if k > 1"),
    ("bias-unit-scaled-up", "bias-unit-scaled-up", "2",
     "This correction is equivalent to shifting the mean activations of the incoming "
     "units toward zero and scaling up the bias unit.",
     "k", 1, "k, mean over epochs, {}"),
    ("covariances-positive", "covariances-positive", "2",
     "In general the largest absolute components of Cov(delta^2, a) are positive.",
     "positive_share", 0.5, "share of positive components among the largest tenth, {}"),
)  # fmt: skip


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs of figure 2 with the activations of the paper's section 4.2."""
    arms = *_UNITS, *_OURS
    runs, seeds = fig2_mnist_curves.trials(plan), plan.runs(2, 5, 5)
    return [run for run in runs if run.activation in arms and run.seed in seeds]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns medians over the units of hidden layers after the first, by epoch."""
    entry = result.find(workdir)
    model = zoo.get_model(entry["model"], preprocessing=False, **entry["arguments"])
    data = load.load("mnist", plan.data_dir).train.first(plan.of(500, _IMAGES, _IMAGES))
    images = np.asarray(data.images, np.float32) / 255
    hidden = [x.name for x in model.layers if x.name.startswith("dense")]
    rows = []
    for epoch, weights in observers.read_snapshots(workdir).items():
        model.set_weights(weights)
        # The inputs of the first layer are pixels and not units.
        layers = bias_shift(model, images, data.labels, layers=hidden[1:], damping=_DAMPING)
        rows.append({"epoch": epoch, **_medians(list(layers.values()))})
    return rows


def _medians(layers: list[BiasShift]) -> dict[str, float]:
    """Returns medians over the units of all layers, but the mean of `positive_share`.

    Units whose deltas are all 0 have no values.
    """
    row = {}
    for name in (*_DRAWN, "mean_length", "positive_share"):
        values = np.concatenate([_values(layer, name) for layer in layers])
        middle = np.mean if name == "positive_share" else np.median
        row[name] = _of_finite(middle, values)
    correlations = [layer.input_correlation[0] for layer in layers]
    shifts = [_of_finite(np.median, _values(x, "uncorrected_shift")) for x in layers]
    row["rank_correlation"] = _rank_correlation(correlations, shifts)
    alive = np.concatenate([layer.delta2 for layer in layers]) > 0
    row["alive"] = float(alive.mean())
    return row


def _of_finite(middle: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(middle(finite)) if len(finite) else math.nan


def _rank_correlation(first: list[float], second: list[float]) -> float:
    """Returns Spearman's correlation, NaN for one layer or a value that is NaN."""
    from scipy import stats

    if len(first) < 2 or not np.isfinite([first, second]).all():
        return math.nan
    return float(stats.spearmanr(first, second).statistic)


def _values(layer: BiasShift, name: str) -> np.ndarray:
    if name == "correction":
        return abs(layer.shift / layer.uncorrected_shift - 1)
    values = getattr(layer, name)
    return abs(values) if "shift" in name else values


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    frame = frame.assign(epoch=frame["epoch"] + 1)
    with plots.figure(stem, [3, 3], 5.2) as [above, below]:
        panels = zip("abcdef", [*above, *below], _DRAWN.items(), strict=True)
        for letter, axes, (column, title) in panels:
            scale = "linear" if column in ("k", "cosine") else "log"
            axes.set(xscale="log", yscale=scale, xlabel="epoch + 1", title=f"{letter}  {title}")
            plots.curves(axes, frame, "epoch", column, summary="quartiles")


def _along_training(activation: str, column: str, epochs: range = _TRAINED) -> Read:
    """Returns a reader of a column's mean over epochs, without values that are NaN."""

    def read(frame: pd.DataFrame) -> Values:
        own = grouping.of_arm(frame, Arm(activation))
        own = own[own["epoch"].between(epochs.start, epochs.stop - 1)]
        if column in _OVER_DECADES:
            means = np.exp(np.log(own[column]).groupby(own["seed"]).mean())
        else:
            means = own.groupby("seed")[column].mean()
        return means.dropna().to_dict()

    return read


def _claims() -> list[Claim]:
    above = [
        Claim(f"theory-{name}", section, text, "an argument", _above(test, *column))
        for name, test, section, text, *column in _ABOVE
    ]
    return [*_claims_of_elu(), *above]


def _claims_of_elu() -> tuple[Claim, Claim]:
    shifts, lengths = [], []
    for other, phase in itertools.product(("relu", "leaky_relu"), _PHASES):
        shifts.append(_test("cosine", other, phase))
        shifts.append(_test("uncorrected_shift", other, phase))
        lengths.append(_test("weighted_mean_length", other, phase))
        lengths.append(_test("correction", other, phase))
    for columns, unit in itertools.product(itertools.pairwise(_CHAIN), _UNITS):
        lengths.append(_correlation(*columns, unit))
    return (
        Claim(
            "theory-bias-shift-reduced",
            "abstract, 1",
            "Mean shifts toward zero speed up learning by bringing the normal gradient "
            "closer to the unit natural gradient because of a reduced bias shift "
            "effect.",
            "an argument",
            tuple(shifts),
        ),
        Claim(
            "theory-smaller-corrections",
            "2",
            "Smaller positive E_p(a) lead to smaller positive E_q(a), therefore to "
            "smaller corrections.",
            "an argument",
            tuple(lengths),
        ),
    )


def _above(name: str, column: str, limit: float | None, measured: str) -> tuple[ClaimTest, ...]:
    """Returns the tests that a column is above a limit, for each activation."""
    return tuple(
        ClaimTest(
            f"theory-{name}-{unit}",
            measured.format(palette.label(unit)),
            mean_value(_along_training(unit, column)),
            limit,
            larger=True,
        )
        for unit in _UNITS
    )


def _test(column: str, other: str, phase: str) -> ClaimTest:
    """Returns the test of ELU against another activation in a phase of training."""
    mean = "geometric mean" if column in _OVER_DECADES else "mean"
    epochs = "1 to 25" if phase == "early" else "50 to 300"
    if column == "cosine":  # the larger, the closer to the natural gradient
        name = f"gradient-{phase}-closer-than-{other}"
    else:
        name = f"{column.replace('_', '-')}-{phase}-below-{other}"
    reads = [_along_training(x, column, _PHASES[phase]) for x in ("elu", other)]
    return ClaimTest(
        f"theory-{name}",
        f"{_DRAWN[column]}, {mean} of kept epochs {epochs}, ELU - {palette.label(other)}",
        difference(*reads),
        larger=column == "cosine",
    )


def _correlation(first: str, second: str, activation: str) -> ClaimTest:
    """Returns the test that two columns rise and fall together along training."""

    def read(frame: pd.DataFrame) -> Values:
        correlations = {}
        for seed, run in grouping.of_arm(frame, Arm(activation)).groupby("seed"):
            pairs = run[[first, second]].dropna()
            if len(pairs) and pairs.nunique().min() > 1:
                correlations[seed] = _rank_correlation(pairs[first], pairs[second])
        return correlations

    titles = _DRAWN | _OTHERS
    return ClaimTest(
        f"theory-{first}-{second}-{activation}".replace("_", "-"),
        f"Spearman's correlation, over kept epochs, of {titles[first]} and "
        f"{titles[second]}, {palette.label(activation)}",
        mean_value(read),
        larger=True,
    )


EXPERIMENT = Experiment(
    title="Theory: the bias shift along training",
    section="2",
    draw=_draw,
    trials=trials,
    measure=measure,
    columns=("epoch", *_DRAWN, *_OTHERS, "alive"),
    claims=tuple(_claims()),
    paper_epochs=300,
    schedule_of="figure 2",
    note=(
        "The runs are those of figure 2, measured in the hidden layers after the first "
        f"on {_IMAGES:,} training images. delta^2 is the expectation over labels from "
        "the network's own softmax; the gradient is of the true labels. The cosine is "
        "of the angle between the gradient and the unit natural gradient. Units of "
        f"trained networks have singular Fisher matrices, so that {_DAMPING} is added "
        "to the variance of each incoming activation. Values are medians over units, "
        "and shifts are sizes; the positive share is a mean. Lines are medians over "
        "runs, with ribbons between the quartiles. The claims have means over the "
        "epochs 1, 2, 5, 10, 25, 50, 100, 200 and 300, which are geometric for lengths, "
        "shifts and corrections. Only the figure has the initial weights, for which the "
        "activations differ in the opposite direction. Shifted ReLU is ours. Effective "
        "images are the number of images that decide by their delta^2. This number is "
        "small late in training, when a single epoch's values mean little."
    ),
)
