"""Figure 3: autoencoders on MNIST at four learning rates."""

import itertools
import math
from pathlib import Path
from typing import NamedTuple

from elu_zoo.pairs import curves, grouping, tables
from elu_zoo.pairs.grouping import Arm, Rows
from elu_zoo.pairs.plots import figures, palette
from elu_zoo.pairs.plots.panels import Panel
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Effect, Find, Values, difference
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record.recorder import Observe

RATES = "0.01", "0.001", "0.0001", "1e-05"
TRAIN, TEST = "measured_squared_error", "test_squared_error"
_SPLITS = {TRAIN: "training", TEST: "test"}
_UNITS = "elu", "relu", "leaky_relu", "shifted_relu"
_PIXELS = 28 * 28
_ITERATIONS = 781  # an epoch
_MEASURED = 10_000  # training images whose reconstruction error is drawn
_DIVERGED = 9.0  # log10 of the error of a run that diverged


class Setting(NamedTuple):
    """Learning rate and loss of a run; `str` returns the run's variant."""

    rate: str
    mean: bool = False  # whether the loss is a mean over pixels instead of a sum

    def __str__(self) -> str:
        return f"lr {self.rate}{' mean' * self.mean}"

    @property
    def label(self) -> str:
        """Text of the setting for titles and tables."""
        return f"rate {self.rate}{', mean' * self.mean}"

    @property
    def rate_of_sum(self) -> float:
        """The learning rate with which the sum over pixels gives the same steps.

        The gradient of the mean is the gradient of the sum divided by the number of
        pixels, and SGD without momentum multiplies the gradient by the rate.
        """
        return float(self.rate) / (_PIXELS if self.mean else 1)


SETTINGS = [Setting(rate, mean) for mean in (False, True) for rate in RATES]


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, grouped by seed and setting."""
    epochs = plan.of(2, 10, 500)
    observe = Observe(
        losses=True,
        test_every=plan.of(100, 2 * _ITERATIONS, 10 * _ITERATIONS),
        measured_images=1000 if plan.smoke else _MEASURED,
    )
    return [
        Trial(
            "mnist_autoencoder",
            f"learning_rate={setting.rate_of_sum:.6g}",
            plan.budget,
            activation,
            seed,
            variant=str(setting),
            # `observe` already measures the training and the test images.
            changes=(("train.epochs", epochs), ("train.evaluate_every", epochs)),
            observe=observe,
        )
        for seed in plan.runs(1, 5, 5)
        for setting in plan.of(SETTINGS[:2], SETTINGS, SETTINGS)
        for activation in _UNITS
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns squared errors of training and test images along the run."""
    config = trial.load()
    examples = config.data.train_examples
    epoch = examples // config.train.batch_size if examples else _ITERATIONS
    rows = curves.iterations(workdir, epoch)
    return [{**row, "epoch": row["step"] / epoch} for row in rows]


def _settings(rows: Rows) -> list[Setting]:
    """Returns the settings that have runs, in the order of `SETTINGS`."""
    variants = {row["variant"] for row in rows}
    return [setting for setting in SETTINGS if str(setting) in variants]


def _draw(rows: Rows, stem: Path) -> None:
    panels = []
    for mean in (False, True):
        settings = [setting for setting in _settings(rows) if setting.mean == mean]
        for letter, column in zip("cd" if mean else "ab", _SPLITS, strict=True):
            row = [_panel(rows, setting, column, letter) for setting in settings]
            if any(panel.series for panel in row):
                panels.append([panel for panel in row if panel.series])
    if panels:
        height = 0.5 + (2.8 if len(panels) == 2 else 2.3) * len(panels)
        figures.draw(panels, stem, height=height, share_y=True, note=_diverged(rows))


def _panel(rows: Rows, setting: Setting, column: str, letter: str) -> Panel:
    which = [arm for arm in grouping.arms(rows) if arm.variant == str(setting)]
    # The paper's lines are medians over runs.
    series = grouping.series(rows, "epoch", column, which, summary="quartiles")
    ylabel = f"squared {_SPLITS[column]} error"
    return Panel(f"{letter}  {setting.label}", "epoch", ylabel, series, logy=True)


def _diverged(rows: Rows) -> str:
    """Returns how many runs diverged at which learning rates, "" for none."""
    texts = []
    for setting in _settings(rows):
        runs = [
            grouping.diverged(run)
            for arm in grouping.arms(rows)
            if arm.variant == str(setting)
            for run in grouping.by_seed(rows, arm).values()
        ]
        if any(runs):
            texts.append(f"{sum(runs)} of {len(runs)} at {setting.label}")
    return f"Runs that diverged: {'; '.join(texts)}." if texts else ""


def _summary(rows: Rows) -> str:
    names = list(dict.fromkeys(arm.activation for arm in grouping.arms(rows)))
    lines = []
    for setting in _settings(rows):
        for column, split in _SPLITS.items():
            arms = [Arm(name, variant=str(setting)) for name in names]
            cells = [_cell(rows, arm, column) for arm in arms]
            lines.append([setting.label.removeprefix("rate "), split, *cells])
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
            f"autoencoder-{split}-{_name(setting)}-better-than-{other}",
            f"log10 of the squared error of {split} images, {setting.label}, ELU - "
            f"{palette.label(other)}; 9 for the run of a pair that diverged alone",
            _error_difference(other, column, setting),
        )
        for setting in SETTINGS
        for other in _UNITS[1:]
        for column, split in _SPLITS.items()
    ]
    rates = [
        ClaimTest(
            f"autoencoder-{_name(high)}-better-than-{_name(low)}",
            f"log10 of ELU's squared test error, {high.label} - {low.label}; without "
            "runs that diverged",
            _or_diverged(
                difference(
                    lambda rows, high=high: _log_errors(rows, "elu", TEST, high),
                    lambda rows, low=low: _log_errors(rows, "elu", TEST, low),
                ),
                high,
            ),
        )
        for high, low in itertools.pairwise(SETTINGS)
        if high.mean == low.mean
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


def _name(setting: Setting) -> str:
    return setting.rate + "-mean" * setting.mean


def _error_difference(other: str, column: str, setting: Setting) -> Find:
    """Returns the test of ELU's error minus the error of another activation.

    A run that diverged has the highest error. A pair whose two runs diverged is left
    out, because the rates that diverge depend on the scale of the loss, which the
    paper leaves open.
    """

    def read(rows: Rows, activation: str, against: str) -> Values:
        errors = _log_errors(rows, activation, column, setting)
        other_errors = _log_errors(rows, against, column, setting)
        runs = grouping.by_seed(rows, Arm(activation, variant=str(setting)))
        diverged = {s for s, run in runs.items() if grouping.diverged(run)}
        return {s: _DIVERGED for s in diverged & other_errors.keys()} | errors

    compare = difference(
        lambda rows: read(rows, "elu", other), lambda rows: read(rows, other, "elu")
    )
    return _or_diverged(compare, setting)


def _or_diverged(compare: Find, setting: Setting) -> Find:
    """Returns a test that has "diverged" if runs of ELU diverged and left no pair."""

    def find(rows: Rows, test: ClaimTest) -> Effect:
        effect = compare(rows, test)
        runs = grouping.by_seed(rows, Arm("elu", variant=str(setting))).values()
        failed = not effect.n and any(map(grouping.diverged, runs))
        return effect._replace(outcome="diverged") if failed else effect

    return find


def _log_errors(rows: Rows, activation: str, column: str, setting: Setting) -> Values:
    """Returns log10 of the final errors of the runs that did not diverge."""
    arm = Arm(activation, variant=str(setting))
    values = grouping.final_values(rows, arm, column)
    return {seed: math.log10(value) for seed, value in values.items()}


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
        "The paper gives a formula neither of the reconstruction error nor of the "
        "loss. As in the benchmark's own code, the loss here is the sigmoid "
        "cross-entropy, summed over pixels. The figure shows the squared error of the "
        f"sigmoid, summed over pixels, of {_MEASURED:,} training images and of all "
        "test images: medians over runs, with ribbons between the quartiles. The "
        "competing activations are those of the paper's other comparisons. The scale "
        "of the loss decides which learning rates diverge, and the paper, with a rate "
        "of 0.01, may have used a mean over pixels. In rows with `mean`, if any, the loss "
        f"is the mean over the {_PIXELS} pixels. These runs are trained with the sum "
        f"at 1 / {_PIXELS} of the rate, which gives the same steps of SGD: 0.01 "
        "becomes 1.3e-5, which is between two rates at which no run diverged."
    ),
)
