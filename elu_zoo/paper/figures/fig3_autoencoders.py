"""Figure 3: autoencoders on MNIST at four learning rates."""

from collections.abc import Mapping
from pathlib import Path

from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.panels import Panel
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.training.recorder import Observe

RATES = "0.01", "0.001", "0.0001", "1e-05"
TRAIN, TEST = "measured_squared_error", "test_squared_error"
_ITERATIONS = 781  # an epoch
_MEASURED = 10_000  # training images whose reconstruction error is drawn


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs, those of one seed and learning rate one after the other."""
    epochs = plan.of(2, 10, 500)
    every = plan.of(100, 2 * _ITERATIONS, 10 * _ITERATIONS)
    observe = Observe(
        losses=True,
        test_every=every,
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
            # Measured by `observe`, on training and test images alike.
            changes=(("train.epochs", epochs), ("train.evaluate_every", epochs)),
            observe=observe,
        )
        for seed in plan.runs(1, 5, 5)
        for rate in plan.of(RATES[:2], RATES, RATES)
        for activation in plan.arms("elu", "relu", "leaky_relu", "shifted_relu")
    ]


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns squared errors of training and test images along the run."""
    examples = trial.load().data.train_examples
    epoch = examples // trial.load().train.batch_size if examples else _ITERATIONS
    rows = curves.iterations(workdir, epoch)
    return [{**row, "epoch": row["step"] / epoch} for row in rows]


def rates(rows: Rows) -> list[str]:
    """Returns the learning rates, the highest first."""
    found = {row["variant"] for row in rows}
    return sorted(found, key=lambda text: -float(text.split()[1]))


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["fig3"]
    panels = [
        [
            _panel(own, rate, measure_, f"{'ab'[i]}  {title}, {rate}")
            for i, (measure_, title) in enumerate(((TRAIN, "training"), (TEST, "test")))
        ]
        for rate in rates(own)
    ]
    shown = [row for row in panels if any(panel for panel in row)]
    if shown:
        figures.draw(shown, stem)


def _panel(rows: Rows, rate: str, measure_: str, title: str) -> Panel | None:
    which = [arm for arm in grouping.arms(rows) if arm[2] == rate]
    if not which or all(_all_diverged(rows, arm) for arm in which):
        return None
    gone = [palette.label(arm[0]) for arm in which if _all_diverged(rows, arm)]
    title += f" ({', '.join(gone)} diverged)" * bool(gone)
    # The paper's lines are medians over runs.
    found = grouping.series(rows, "epoch", measure_, which, summary="median")
    return Panel(title, "epoch", "squared error", found, logy=True) if found else None


def _all_diverged(rows: Rows, arm: grouping.Arm) -> bool:
    return all(grouping.diverged(run) for run in grouping.of_arm(rows, arm).values())


def _summary(rows: Mapping[str, Rows]) -> str:
    own = rows["fig3"]
    names = list(dict.fromkeys(arm[0] for arm in grouping.arms(own)))
    lines = []
    for rate in rates(own):
        for measure_, split in ((TRAIN, "training"), (TEST, "test")):
            cells = [_cell(own, (name, False, rate), measure_) for name in names]
            lines.append([rate.removeprefix("lr "), split, *cells])
    return grouping.markdown(["learning rate", "squared error of", *names], lines)


def _cell(rows: Rows, arm: grouping.Arm, measure_: str) -> str:
    runs = grouping.of_arm(rows, arm)
    ended = sum(grouping.diverged(run) for run in runs.values())
    text = grouping.spread(list(grouping.finals(rows, arm, measure_).values()))
    many = f"{ended} of {len(runs)} diverged" if ended else ""
    return ", ".join(part for part in (text, many) if part)


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
    note=(
        "The paper gives no formula of its reconstruction error, nor the loss: here, "
        "as in the benchmark's own code, sigmoid cross-entropy is trained, summed over "
        "pixels, and the squared error of the sigmoid is drawn, summed over pixels; of "
        f"{_MEASURED:,} training images and of all test images. The competing units "
        "are those of its other comparisons. Which learning rates diverge depends on "
        "how the loss is scaled, here with a sum: the paper, with a rate of 0.01, may "
        "have had a mean. Rates at which all runs diverged have no panel."
    ),
)
