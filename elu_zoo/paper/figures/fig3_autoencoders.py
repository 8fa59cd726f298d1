"""Figure 3: autoencoders on MNIST at four learning rates."""

import functools
import itertools
import math
from pathlib import Path

from elu_zoo.paper import grouping, tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.grouping import Arm, Rows
from elu_zoo.paper.judging import Claim, ClaimTest, Judge, Values, lower
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.panels import Panel
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.training.recorder import Observe

RATES = "0.01", "0.001", "0.0001", "1e-05"
TRAIN, TEST = "measured_squared_error", "test_squared_error"
_SPLITS = {TRAIN: "training", TEST: "test"}
_UNITS = "elu", "relu", "leaky_relu", "shifted_relu"
_ITERATIONS = 781  # an epoch
_MEASURED = 10_000  # training images whose reconstruction error is drawn
_DIVERGED = 9.0  # log10 of the error of a run that diverged: the highest


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed and learning rate."""
    epochs = plan.of(2, 10, 500)
    observe = Observe(
        losses=True,
        test_every=plan.of(100, 2 * _ITERATIONS, 10 * _ITERATIONS),
        measured_images=1000 if plan.smoke else _MEASURED,
    )
    return [
        Trial(
            "mnist_autoencoder",
            f"learning_rate={rate}",
            plan.budget,
            activation,
            seed,
            variant=f"lr {rate}",
            # `observe` measures training and test images alike.
            changes=(("train.epochs", epochs), ("train.evaluate_every", epochs)),
            observe=observe,
        )
        for seed in plan.runs(1, 5, 5)
        for rate in plan.of(RATES[:2], RATES, RATES)
        for activation in plan.arms(*_UNITS)
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns squared errors of training and test images along the run."""
    config = trial.load()
    examples = config.data.train_examples
    epoch = examples // config.train.batch_size if examples else _ITERATIONS
    rows = curves.iterations(workdir, epoch)
    return [{**row, "epoch": row["step"] / epoch} for row in rows]


def _rates(rows: Rows) -> list[str]:
    """Returns the variants, one for each learning rate, the highest rate first."""
    found = {row["variant"] for row in rows}
    return sorted(found, key=lambda variant: -float(variant.split()[1]))


def _draw(rows: Rows, stem: Path) -> None:
    panels = []
    for rate in _rates(rows):
        row = [
            _panel(rows, rate, column, f"{letter}  {split}, {rate}")
            for letter, (column, split) in zip("ab", _SPLITS.items(), strict=True)
        ]
        if any(row):
            panels.append(row)
    if panels:
        figures.draw(panels, stem)


def _panel(rows: Rows, rate: str, column: str, title: str) -> Panel | None:
    which = [arm for arm in grouping.arms(rows) if arm.variant == rate]
    diverged = [
        palette.label(arm.activation)
        for arm in which
        if all(map(grouping.diverged, grouping.by_seed(rows, arm).values()))
    ]
    if diverged:
        title += f" ({', '.join(diverged)} diverged)"
    # The paper's lines are medians over runs.
    found = grouping.series(rows, "epoch", column, which, summary="median")
    return Panel(title, "epoch", "squared error", found, logy=True) if found else None


def _summary(rows: Rows) -> str:
    names = list(dict.fromkeys(arm.activation for arm in grouping.arms(rows)))
    lines = []
    for rate in _rates(rows):
        for column, split in _SPLITS.items():
            cells = [_cell(rows, Arm(name, variant=rate), column) for name in names]
            lines.append([rate.removeprefix("lr "), split, *cells])
    return tables.markdown(["learning rate", "squared error of", *names], lines)


def _cell(rows: Rows, arm: Arm, column: str) -> str:
    runs = grouping.by_seed(rows, arm)
    diverged = sum(map(grouping.diverged, runs.values()))
    text = tables.mean(grouping.final_values(rows, arm, column).values())
    count = f"{diverged} of {len(runs)} diverged" if diverged else ""
    return ", ".join(part for part in (text, count) if part)


def _claims() -> list[Claim]:
    better = [
        ClaimTest(
            f"autoencoder-{split}-{rate}-better-than-{other}",
            f"log10 of squared error of {split} images at rate {rate}, ELU - "
            f"{palette.label(other)}; 9 for a run that diverged and whose pair did not",
            _lower_error(other, column, rate),
        )
        for other in _UNITS[1:]
        for column, split in _SPLITS.items()
        for rate in RATES
    ]
    rates = [
        ClaimTest(
            f"autoencoder-{high}-better-than-{low}",
            f"log10 of ELU's squared test error, rate {high} - rate {low}; without "
            "runs that diverged",
            lower(
                functools.partial(
                    _log_errors, activation="elu", column=TEST, rate=high
                ),
                functools.partial(_log_errors, activation="elu", column=TEST, rate=low),
            ),
        )
        for high, low in itertools.pairwise(RATES)
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


def _lower_error(other: str, column: str, rate: str) -> Judge:
    """Returns the test of ELU's error against that of another activation.

    A run that diverged has the highest error. A pair of which both diverged is left
    out: which rates diverge depends on how the loss is scaled, which the paper leaves
    open.
    """

    def read(rows: Rows, activation: str, against: str) -> Values:
        found = _log_errors(rows, activation, column, rate)
        ended = _log_errors(rows, against, column, rate)
        runs = grouping.by_seed(rows, Arm(activation, variant=f"lr {rate}"))
        diverged = {s for s, run in runs.items() if grouping.diverged(run)}
        return {s: _DIVERGED for s in diverged & ended.keys()} | found

    return lower(
        lambda rows: read(rows, "elu", other), lambda rows: read(rows, other, "elu")
    )


def _log_errors(rows: Rows, activation: str, column: str, rate: str) -> Values:
    """Returns log10 of the final errors of the runs that did not diverge."""
    arm = Arm(activation, variant=f"lr {rate}")
    found = grouping.final_values(rows, arm, column)
    return {seed: math.log10(value) for seed, value in found.items()}


EXPERIMENT = Experiment(
    title="Figure 3: autoencoders at four learning rates",
    section="4.1.2",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("step", "epoch", "train_loss", TRAIN, TEST),
    compares={TRAIN: "training error, end", TEST: "test error, end"},
    shows_divergence=True,
    claims=tuple(_claims()),
    paper_epochs=500,
    note=(
        "The paper gives neither a formula of its reconstruction error nor the loss. "
        "As in the benchmark's own code, sigmoid cross-entropy is trained here, summed "
        "over pixels, and the squared error of the sigmoid is drawn, summed over "
        f"pixels; of {_MEASURED:,} training images and of all test images. The "
        "competing activations are those of the paper's other comparisons. Which "
        "learning rates diverge depends on how the loss is scaled, here with a sum: "
        "the paper, with a rate of 0.01, may have had a mean. Rates at which all runs "
        "diverged have no panel."
    ),
)
