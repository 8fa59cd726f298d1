"""Figure 3: autoencoders on MNIST at four learning rates."""

import itertools
import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from elu_zoo.pairs import curves, grouping, palette, plots, tables
from elu_zoo.pairs.grouping import Arm
from elu_zoo.pairs.spec import Plan, Trial
from elu_zoo.paper.claims import Claim, ClaimTest, Effect, Find, Values, difference
from elu_zoo.paper.experiment import Experiment
from elu_zoo.training.record import observers

RATES = "0.01", "0.001", "0.0001", "1e-05"
TRAIN, TEST = "measured_squared_error", "test_squared_error"
_SPLITS = {TRAIN: "training", TEST: "test"}
_ENDS = {column: f"squared error, {split} images" for column, split in _SPLITS.items()}
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
    measures = observers.Measures(
        plan.of(100, 2 * _ITERATIONS, 10 * _ITERATIONS),
        training_images=1000 if plan.smoke else _MEASURED,
    )
    return [
        Trial(
            "mnist_autoencoder",
            f"learning_rate={setting.rate_of_sum:.6g}",
            plan.budget,
            activation,
            seed,
            variant=str(setting),
            # `measures` already measures the training and the test images.
            changes=(("train.epochs", epochs), ("train.evaluate_every", epochs)),
            observers=(observers.Losses(), measures),
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


def _settings(frame: pd.DataFrame) -> list[Setting]:
    """Returns the settings that have runs, in the order of `SETTINGS`."""
    return [setting for setting in SETTINGS if str(setting) in set(frame["variant"])]


def _draw(frame: pd.DataFrame, stem: Path) -> None:
    measured = _settings(frame[frame[[*_SPLITS]].notna().any(axis=1)])
    groups = [[s for s in measured if s.mean == mean] for mean in (False, True)]
    rows = [(column, group) for group in groups if group for column in _SPLITS]
    if not rows:
        return
    layout = [len(group) for _, group in rows]
    with plots.figure(stem, layout, 0.5 + 2.5 * len(rows)) as grid:
        grid[0][0].figure.suptitle(_diverged(frame))
        for letter, (column, group), line in zip("abcd", rows, grid, strict=False):
            for setting, axes in zip(group, line, strict=True):
                axes.sharey(grid[0][0])
                axes.set(yscale="log", title=f"{letter}  {setting.label}", xlabel="epoch")
                own = frame[frame["variant"] == str(setting)]
                # The paper's lines are medians over runs.
                plots.curves(axes, own, "epoch", column, summary="quartiles")
                axes.tick_params(labelleft=axes is line[0])
            line[0].set_ylabel(f"squared {_SPLITS[column]} error")


def _diverged(frame: pd.DataFrame) -> str:
    """Returns how many runs diverged at which learning rates, "" for none."""
    texts = []
    for setting in _settings(frame):
        own = frame[frame["variant"] == str(setting)]
        runs = own.groupby(["activation", "seed"], observed=True)["diverged"].max() != ""
        if runs.any():
            texts.append(f"{runs.sum()} of {len(runs)} at {setting.label}")
    return f"Runs that diverged: {'; '.join(texts)}." if texts else ""


def _summary(frame: pd.DataFrame) -> str:
    return f"{tables.ends(frame, _ENDS)}\n\n{_diverged(frame)}".strip()


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
                    lambda frame, high=high: _log_errors(frame, "elu", TEST, high),
                    lambda frame, low=low: _log_errors(frame, "elu", TEST, low),
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

    def read(frame: pd.DataFrame, activation: str, against: str) -> Values:
        errors = _log_errors(frame, activation, column, setting)
        other_errors = _log_errors(frame, against, column, setting)
        diverged = _diverged_seeds(frame, activation, setting)
        return {s: _DIVERGED for s in diverged & other_errors.keys()} | errors

    compare = difference(
        lambda frame: read(frame, "elu", other), lambda frame: read(frame, other, "elu")
    )
    return _or_diverged(compare, setting)


def _or_diverged(compare: Find, setting: Setting) -> Find:
    """Returns a test that has "diverged" if runs of ELU diverged and left no pair."""

    def find(frame: pd.DataFrame, test: ClaimTest) -> Effect:
        effect = compare(frame, test)
        failed = not effect.n and _diverged_seeds(frame, "elu", setting)
        return effect._replace(outcome="diverged") if failed else effect

    return find


def _diverged_seeds(frame: pd.DataFrame, activation: str, setting: Setting) -> set[int]:
    own = grouping.of_arm(frame, Arm(activation, variant=str(setting)))
    return set(own["seed"][own["diverged"] != ""])


def _log_errors(frame: pd.DataFrame, activation: str, column: str, setting: Setting) -> Values:
    """Returns log10 of the final errors of the runs that did not diverge."""
    arm = Arm(activation, variant=str(setting))
    values = grouping.final_values(frame, arm, column)
    return {seed: math.log10(value) for seed, value in values.items()}


EXPERIMENT = Experiment(
    title="Figure 3: autoencoders at four learning rates",
    section="4.1.2",
    draw=_draw,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=("step", "epoch", "train_loss", TRAIN, TEST),
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
