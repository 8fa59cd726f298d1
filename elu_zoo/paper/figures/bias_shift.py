"""Theorem 2 along training: k, mean incoming activations, the bias shift, and noise."""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from elu_zoo import zoo
from elu_zoo.data import image_changes, load
from elu_zoo.data.dataset import Split
from elu_zoo.pairs import grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Read, Values, difference, final, mean_value
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import fig2_mnist_curves
from elu_zoo.paper.theory.bias_shift import BiasShift, bias_shift
from elu_zoo.training import result
from elu_zoo.training.record import observers

DAMPINGS = 0.001, 0.01, 0.1
_DAMPING = 0.01  # of the figure, and of columns that do not depend on the damping
# Ranges of epochs. About half of the snapshots are in the first.
_PHASES = {"1 to 25": range(1, 26), "50 to 300": range(26, 10**6)}
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
_SHARES = {
    f"positive_share_{x}": f"share of positive components among the largest {x} %"
    for x in (5, 10, 20)
}
_TITLES = _DRAWN | {"mean_length": "length of E_p(a)"} | _SHARES
_DAMPED = "k", "uncorrected_shift", "correction", "cosine"  # they depend on the damping
_ACTIVATIONS = "elu", "relu", "leaky_relu"
# Columns with values over several decades, whose means over epochs are geometric.
_OVER_DECADES = "weighted_mean_length", "uncorrected_shift", "correction"
# Columns of test errors in percent: standard deviation of the noise, of pixels 0 to 255.
_NOISE = {f"error_at_noise_{x}": x for x in (0, *image_changes.LEVELS["noise"])}
_ENDS = {  # columns of the table
    "share_at_start": "positive share of the largest 10 %, initial weights",
    "positive_share_10": "at the end",
    **{column: f"test error %, noise {x}" for column, x in _NOISE.items()},
}


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs of figure 2 with the activations of the paper's section 4.2."""
    arms = *_ACTIVATIONS, "shifted_relu"  # the latter in the figure only
    runs, seeds = fig2_mnist_curves.trials(plan), plan.runs(2, 5, 5)
    return [run for run in runs if run.activation in arms and run.seed in seeds]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns medians over the units of hidden layers after the first, by epoch and damping.

    The rows of the last epoch also have the errors of the test images under noise.
    """
    data = load.load("mnist", plan.data_dir)
    train, rows = data.train.first(plan.of(500, _IMAGES, _IMAGES)), []
    for epoch, model, (_, *hidden) in networks(workdir):
        # The inputs of the first layer, which is left out, are pixels and not units.
        layers = bias_shift(model, train.images, train.labels, layers=hidden, dampings=DAMPINGS)
        for damping, *measures in zip(DAMPINGS, *layers.values(), strict=True):
            rows.append({"epoch": epoch, "damping": damping, **_medians(measures)})
    found = _errors_under_noise(model, data.test.first(plan.of(500, 10_000, 10_000)))
    return [row | found if row["epoch"] == epoch else row for row in rows]


def networks(workdir: Path) -> Iterator[tuple[int, keras.Model, list[str]]]:
    """Yields the epochs of a run's snapshots, the network and the names of hidden layers."""
    entry = result.find(workdir)
    model = zoo.get_model(entry["model"], **entry["arguments"])
    hidden = [layer.name for layer in model.layers if layer.name.startswith("dense")]
    for epoch, weights in observers.read_snapshots(workdir).items():
        model.set_weights(weights)
        yield epoch, model, hidden


def _medians(layers: Sequence[BiasShift]) -> dict[str, float]:
    """Returns medians over the units of all layers, but means of the positive shares.

    Units whose deltas are all 0 have no values.
    """
    row = {}
    for name in _TITLES:
        values = np.concatenate([_values(layer, name) for layer in layers])
        finite = values[np.isfinite(values)]
        middle = np.mean if name in _SHARES else np.median
        row[name] = float(middle(finite)) if len(finite) else math.nan
    return row


def _values(layer: BiasShift, name: str) -> np.ndarray:
    if name == "correction":
        return abs(layer.shift / layer.uncorrected_shift - 1)
    values = getattr(layer, name)
    return abs(values) if "shift" in name else values


def _errors_under_noise(model: keras.Model, split: Split) -> dict[str, float]:
    """Returns a classifier's errors in percent, by column of `_NOISE`."""
    row = {}
    for severity, column in enumerate(_NOISE):
        images = split.images
        if severity:
            images = image_changes.change(images, "noise", severity)
        logits = np.asarray(model(images))
        row[column] = 100 * float(np.mean(logits.argmax(axis=1) != split.labels))
    return row


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    frame = frame[frame["damping"] == _DAMPING].assign(epoch=frame["epoch"] + 1)
    with plots.figure(stem, [3, 3], 5.2) as [above, below]:
        panels = zip("abcdef", [*above, *below], _DRAWN.items(), strict=True)
        for letter, axes, (column, title) in panels:
            scale = "linear" if column in ("k", "cosine") else "log"
            axes.set(xscale="log", yscale=scale, xlabel="epoch + 1", title=f"{letter}  {title}")
            plots.curves(axes, frame, "epoch", column, summary="quartiles")


def _summary(frame: pd.DataFrame) -> str:
    at_start = frame["positive_share_10"].where(frame["epoch"] == 0)
    return tables.ends(frame.assign(share_at_start=at_start), _ENDS)


def _along_training(activation: str, column: str, epochs: range, damping: float) -> Read:
    """Returns a reader of a column's mean over epochs, without values that are NaN."""

    def read(frame: pd.DataFrame) -> Values:
        own = grouping.of_arm(frame, Arm(activation))
        own = own[own["epoch"].between(epochs.start, epochs.stop - 1)]
        own = own[own["damping"] == damping]
        if column in _DAMPED and not {*DAMPINGS} <= {*frame["damping"]}:
            return {}  # one damping alone decides nothing
        if column in _OVER_DECADES:
            means = np.exp(np.log(own[column]).groupby(own["seed"]).mean())
        else:
            means = own.groupby("seed")[column].mean()
        return means.dropna().to_dict()

    return read


def _claims() -> list[Claim]:
    return [
        Claim(
            "theory-bias-shift-reduced",
            "abstract, 1",
            "Mean shifts toward zero speed up learning by bringing the normal gradient closer to "
            "the unit natural gradient because of a reduced bias shift effect.",
            "an argument",
            _differences("cosine", "uncorrected_shift"),
        ),
        Claim(
            "theory-smaller-corrections",
            "2",
            "Smaller positive E_p(a) lead to smaller positive E_q(a), therefore to "
            "smaller corrections.",
            "an argument",
            _differences("mean_length", "weighted_mean_length", "correction"),
        ),
        Claim(
            "theory-k-above-1",
            "2",
            "k increases with the length of E_q(a) for given variances and covariances. "
            "This correction is equivalent to shifting the mean activations of the "
            "incoming units toward zero and scaling up the bias unit.",
            "an argument",
            _means("k", 1),
        ),
        Claim(
            "theory-covariances-positive",
            "2",
            "In general the largest absolute components of Cov(delta^2, a) are positive.",
            "an argument",
            tuple(test for column in _SHARES for test in _means(column, 0.5)),
        ),
        Claim(
            "noise-robust",
            "1",
            "Such an activation function is more robust to noise.",
            "an argument",
            tuple(
                ClaimTest(
                    f"noise-{deviation}-better-than-leaky_relu",
                    f"test error % under noise of standard deviation {deviation}, ELU - LReLU",
                    difference(final(Arm("elu"), column), final(Arm("leaky_relu"), column)),
                )
                # ReLU is left out, because the paper calls it saturating too.
                for column, deviation in list(_NOISE.items())[1:]
            ),
        ),
    ]


def _dampings(column: str) -> dict[float, str]:
    """Returns the dampings of a column's tests, with the end of the text of a test."""
    if column not in _DAMPED:
        return {_DAMPING: ""}
    return {damping: f", damping {damping:g}" for damping in DAMPINGS}


def _means(column: str, limit: float) -> tuple[ClaimTest, ...]:
    """Returns the tests that a column is above a limit, by activation and damping."""
    return tuple(
        ClaimTest(
            f"theory-{column}-{unit}{end}".replace(" ", "-"),
            f"{_TITLES[column]}, mean over epochs, {palette.label(unit)}{end}",
            mean_value(_along_training(unit, column, _TRAINED, damping)),
            limit,
            larger=True,
        )
        for unit in _ACTIVATIONS
        for damping, end in _dampings(column).items()
    )


def _differences(*columns: str) -> tuple[ClaimTest, ...]:
    """Returns the tests of ELU against the others, by phase of training and damping."""
    return tuple(
        ClaimTest(
            f"theory-{column}-{phase}-elu-{other}{end}".replace(" ", "-"),
            f"{_TITLES[column]}, {'geometric ' * (column in _OVER_DECADES)}mean of kept "
            f"epochs {phase}, ELU - {palette.label(other)}{end}",
            difference(
                _along_training("elu", column, epochs, damping),
                _along_training(other, column, epochs, damping),
            ),
            larger=column == "cosine",  # the larger, the closer to the natural gradient
        )
        for other, (phase, epochs), column in itertools.product(
            _ACTIVATIONS[1:], _PHASES.items(), columns
        )
        for damping, end in _dampings(column).items()
    )


EXPERIMENT = Experiment(
    title="Theory: the bias shift along training",
    section="2",
    data="MNIST",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("epoch", "damping", *_TITLES, *_NOISE),
    claims=tuple(_claims()),
    paper_epochs=300,
    schedule_of="figure 2",
    note=(
        "The runs are those of figure 2, trained again, perhaps on another kind of processor, "
        "with slightly different errors. They are measured in the hidden layers "
        f"after the first on {_IMAGES:,} training images. delta^2 is the expectation over "
        "labels from the network's own softmax; the gradient is of the true labels. Units of "
        "trained networks have singular Fisher matrices, so that a damping is added to the "
        "variance of each incoming activation. k, shift, correction and cosine (of the angle "
        "between the gradient and the unit natural gradient) depend on it: the figure has "
        f"{_DAMPING}, each claim has tests at {', '.join(map(str, DAMPINGS))}. Values are "
        "medians over units, shifts are sizes, positive shares are means; lines are medians "
        "over runs, with ribbons between the quartiles. k - 1 is proportional to the length of "
        "E_q(a) in a given direction, so that k increases with it if k > 1. The claim on "
        "covariances is a general one, its verdict is on these MNIST networks, trained; the "
        "table has initial weights too. Effective images are those that decide by their "
        "delta^2, few late in training. Noise is added to all test images, at the severities "
        "of `elu-zoo-evaluate --changes`; ELU is compared with what the paper says not to "
        "saturate. Kept are the epochs 1, 2, 5, 10, 25, 50, 100, 200 and 300. Shifted ReLU is "
        "ours."
    ),
)
