"""Figure 3: autoencoders on MNIST at four learning rates."""

import itertools
import math
from pathlib import Path

import pandas as pd

from elu_zoo.pairs import curves, grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Effect, Find, difference
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record import observers

RATES = "0.01", "0.001", "0.0001", "1e-05"
TRAIN, TEST = "measured_squared_error", "test_squared_error"
_SPLITS = {TRAIN: "training", TEST: "test"}
_ENDS = {column: f"squared error, {split} images" for column, split in _SPLITS.items()}
_NAMES = "elu", "relu", "leaky_relu", "shifted_relu"
_ITERATIONS = 781  # an epoch
_MEASURED = 10_000  # training images whose reconstruction error is drawn
_DIVERGED = 9.0  # log10 of the error of a run that diverged


# Argument and rate of each variant. SGD without momentum makes the same steps with the mean
# over pixels as with the configs' losses, which are sums, at 1 / 784 of the rate. The
# config's squared error has a factor of 1/2.
_SUMS = {f"lr {rate}": ("", float(rate)) for rate in RATES}
_MEANS = {
    "lr 0.01 mean": ("", 0.01 / 784),
    "lr 0.01 mean squared": ("mse=True,", 2 * 0.01 / 784),
}
VARIANTS = _SUMS | _MEANS


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed and variant."""
    epochs = plan.of(2, 10, 500)
    measures = observers.Measures(
        plan.of(100, 2 * _ITERATIONS, 10 * _ITERATIONS),
        training_images=1000 if plan.smoke else _MEASURED,
    )
    return [
        Trial(
            "mnist_autoencoder",
            f"{loss}learning_rate={rate:.6g}",
            plan.budget,
            activation,
            seed,
            variant=variant,
            # `measures` already measures the training and the test images.
            changes=(("train.epochs", epochs), ("train.evaluate_every", epochs)),
            observers=(observers.Losses(), measures),
        )
        for seed in plan.runs(1, 5, 5)
        for variant, (loss, rate) in [*VARIANTS.items()][: 2 if plan.smoke else None]
        for activation in _NAMES
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns squared errors of training and test images along the run."""
    epoch = plan.of(100, _ITERATIONS, _ITERATIONS)
    rows = curves.iterations(workdir, epoch)
    return [{**row, "epoch": row["step"] / epoch} for row in rows]


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    measured = {*frame["variant"][frame[[*_SPLITS]].notna().any(axis=1)]}
    groups = [[variant for variant in group if variant in measured] for group in (_SUMS, _MEANS)]
    columns = [column for column in _SPLITS if frame[column].notna().any()]
    rows = [(column, group) for group in groups if group for column in columns]
    if not rows:
        return
    with plots.figure(stem, [len(group) for _, group in rows], 0.5 + 2.5 * len(rows)) as grid:
        grid[0][0].figure.suptitle(_diverged(frame))
        for letter, (column, group), line in zip("abcd", rows, grid, strict=False):
            for variant, axes in zip(group, line, strict=True):
                axes.sharey(grid[0][0])
                axes.set(yscale="log", title=f"{letter}  {variant}", xlabel="epoch")
                # The paper's lines are medians over runs.
                own = frame[frame["variant"] == variant]
                plots.curves(axes, own, "epoch", column, summary="quartiles")
                axes.tick_params(labelleft=axes is line[0])
            line[0].set_ylabel(f"squared {_SPLITS[column]} error")


def _diverged(frame: pd.DataFrame) -> str:
    """Returns how many runs diverged in which variants, "" for none."""
    runs = frame.groupby(["variant", "activation", "seed"], observed=True)["diverged"].max() != ""
    counts = runs.groupby("variant").agg(["sum", "size"])
    texts = [
        f"{own['sum']} of {own['size']} with {x}" for x, own in counts.iterrows() if own["sum"]
    ]
    return f"Runs that diverged: {'; '.join(texts)}." if texts else ""


def _claims() -> list[Claim]:
    better = [
        ClaimTest(
            f"autoencoder-{split}-{_name(variant)}-better-than-{other}",
            f"log10 of the squared error of {split} images, {variant}, ELU - "
            f"{palette.label(other)}; 9 for the run of a pair that diverged alone",
            _difference(column, Arm("elu", variant=variant), Arm(other, variant=variant)),
        )
        for variant in VARIANTS
        for other in _NAMES[1:]
        for column, split in _SPLITS.items()
    ]
    rates = [
        ClaimTest(
            f"autoencoder-{_name(high)}-better-than-{_name(low)}",
            f"log10 of ELU's squared test error, {high} - {low}; without runs that diverged",
            _difference(TEST, Arm("elu", variant=high), Arm("elu", variant=low)),
        )
        for high, low in itertools.pairwise(_SUMS)
    ]
    return [
        Claim(
            "autoencoder-better",
            "4.1.2",
            "ELUs outperform the competing activation functions in terms of training / "
            "test set reconstruction error for all learning rates.",
            "a figure",
            tuple(better),
        ),
        Claim(
            "autoencoder-higher-rates-better",
            "4.1.2",
            "Higher learning rates seem to perform better.",
            "a figure",
            tuple(rates),
        ),
    ]


def _name(variant: str) -> str:
    return variant.removeprefix("lr ").replace(" ", "-")


def _difference(column: str, first: Arm, second: Arm) -> Find:
    """Measures the mean difference of log10 of the final errors of two arms.

    Of two activations, the run that diverged alone has the highest error, if every pair has
    such a run. Other pairs with a run that diverged are left out, because the rates that
    diverge depend on the scale of the loss, which the paper leaves open. If no pair is left,
    or only some pairs have a run that diverged alone, the test has "diverged".
    """

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        a, diverged_a = _log_errors(frame, first, column)
        b, diverged_b = _log_errors(frame, second, column)
        alone_a, alone_b = diverged_a & b.keys(), diverged_b & a.keys()
        if first.variant != second.variant:
            alone_a = alone_b = set()
        a |= dict.fromkeys(alone_a, _DIVERGED)
        b |= dict.fromkeys(alone_b, _DIVERGED)
        effect = difference(lambda _: a, lambda _: b)(frame, test)
        # One error of 10^9 among others would hide the difference by its variance.
        some = 0 < len(alone_a | alone_b) < effect.n
        failed = some or (not effect.n and diverged_a)
        return Effect(outcome="diverged") if failed else effect

    return find


def _log_errors(frame: pd.DataFrame, arm: Arm, column: str) -> tuple[dict[int, float], set[int]]:
    """Returns log10 of the final errors by seed, and the seeds of runs that diverged."""
    own = grouping.of_arm(frame, arm)
    values = grouping.final_values(frame, arm, column)
    errors = {seed: math.log10(value) for seed, value in values.items()}
    return errors, set(own["seed"][own["diverged"] != ""])


EXPERIMENT = Experiment(
    title="Figure 3: autoencoders at four learning rates",
    section="4.1.2",
    data="MNIST",
    draw=_draw,
    summary=lambda frame: f"{tables.ends(frame, _ENDS)}\n\n{_diverged(frame)}".strip(),
    trials=trials,
    measure=measure,
    columns=("step", "epoch", "train_loss", TRAIN, TEST),
    shows_divergence=True,
    claims=tuple(_claims()),
    paper_epochs=500,
    note=(
        "The paper gives a formula neither of the reconstruction error nor of the loss. As in the "
        "benchmark's own code, the loss here is the sigmoid cross-entropy, summed over pixels. The "
        f"figure shows the squared error of the sigmoid, summed over pixels, of {_MEASURED:,} "
        "training images and of all test images: medians over runs, with ribbons between the "
        "quartiles. The competing activations are those of the paper's other comparisons. The "
        "scale of the loss decides which learning rates diverge. With the sum, 0.01 does, and the "
        "paper, with this rate, may have used another loss. Runs with `mean`, if any, have 0.01 "
        "and the mean over the 784 pixels of the cross-entropy or, with linear outputs, of the "
        "squared error. They are trained with the sum, or half the sum of squares, at the rate "
        "that gives the same steps of SGD: 1.3e-5 or 2.6e-5. The sum of squares at 0.01 diverges "
        "within ten steps. Runs over 500 epochs have no curves."
    ),
)
