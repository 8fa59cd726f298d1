"""Figures 4 and 5: eleven convolutional layers on CIFAR-100, four units, batch norm."""

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase

from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.panels import Panel, zoom
from elu_zoo.paper.run import curves
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.training.recorder import Observe

PAPER_SCHEDULE = "paper's schedule"  # of one pair in the short budget
_PAPER_EPOCHS = 7
_COLUMNS = "step", "train_loss", "test_loss", "test_error_percent"
_COMPARED = {"test_error_percent": "test error %", "train_loss": "training loss, end"}
_CHANCE = 98.5  # percent wrong; by chance, of a hundred classes, it is 99
_PANELS = (("train_loss", "training loss", "loss"),)
_PANELS += (("test_error_percent", "test error", "%"),)


def trials(plan: Plan) -> list[Trial]:
    """Returns the runs without batch norm, those of one seed one after the other."""
    own = ("elu", "relu", "leaky_relu", "shifted_relu")
    found = [
        _trial(plan, name, seed)
        for seed in plan.runs(1, 5, 10)
        for name in plan.arms(*own)
    ]
    if plan.budget == "short":
        found += [_of_paper(plan, name) for name in plan.arms("elu", "relu")]
    return found


def with_batch_norm(plan: Plan) -> list[Trial]:
    """Returns the runs with batch norm, those of one seed one after the other."""
    own = plan.of(("elu", "relu"), ("elu", "relu"), None)
    own = own or ("elu", "relu", "leaky_relu", "shifted_relu")
    return [
        _trial(plan, name, seed, batch_norm=True)
        for seed in plan.runs(1, 5, 10)
        for name in plan.arms(*own)
    ]


def learned(rows: Rows) -> Rows:
    """Returns the rows of the runs that ended better than chance.

    At a short budget's schedule, which was chosen with other units, a unit that stays
    at chance loses to none.
    """
    kept = []
    for arm in grouping.arms(rows):
        errors = grouping.finals(rows, arm, "test_error_percent")
        for seed, own in grouping.of_arm(rows, arm).items():
            if errors.get(seed, 100.0) < _CHANCE:
                kept += own
    return kept


def _trial(plan: Plan, name: str, seed: int, batch_norm: bool = False) -> Trial:
    arguments = plan.of("schedule=fast", "schedule=fast,epochs=3", "schedule=paper")
    observe = Observe(losses=True, test_every=plan.of(4, 300, 1000))
    return Trial(
        "elu_cifar_11",
        arguments,
        plan.budget,
        name,
        seed,
        batch_norm=batch_norm,
        observe=observe,
    )


def _of_paper(plan: Plan, name: str) -> Trial:
    return Trial(
        "elu_cifar_11",
        f"schedule=paper,epochs={_PAPER_EPOCHS}",
        plan.budget,
        name,
        0,
        variant=PAPER_SCHEDULE,
        # These two runs were measured before the config took He's variance.
        changes=(("model.init_scale", 1.0),),
        observe=Observe(losses=True, test_every=500),
    )


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns losses and test errors along the run; the last row is its end."""
    rows = curves.iterations(workdir, plan.of(2, 50, 1000))
    rows[-1] |= curves.final(workdir)
    return rows


def _draw_comparison(rows: Mapping[str, Rows], stem: Path) -> None:
    own = [row for row in rows["fig4"] if not row["variant"]]
    last = max(int(row["step"]) for row in own if row["step"])
    panels = []
    for i, (name, title, unit) in enumerate(_PANELS):
        whole = Panel(
            f"{'ad'[i]}  {title}", "iteration", unit, grouping.series(own, "step", name)
        )
        start = zoom(whole, 0, last * 0.4, f"{'be'[i]}  {title} (start)")
        end = zoom(whole, last * 0.6, last, f"{'cf'[i]}  {title} (end)")
        panels.append([whole, start, end])
    pair = [row for row in rows["fig4"] if row["variant"] == PAPER_SCHEDULE]
    if pair:
        of_pair = [
            Panel(f"{letter}  {title}, {PAPER_SCHEDULE}", "iteration", unit, found)
            for letter, (name, title, unit) in zip("gh", _PANELS, strict=True)
            if (found := grouping.series(pair, "step", name))
        ]
        panels.append([*of_pair, *[None] * (3 - len(of_pair))])
    figures.draw(panels, stem)


def _draw_pairs(rows: Mapping[str, Rows], stem: Path) -> None:
    own = [row for row in rows["fig4"] if not row["variant"]]
    every = own + rows["fig5"]
    last = max(int(row["step"]) for row in every if row["step"])
    first = grouping.reference(rows["fig5"])
    others = [a[0] for a in grouping.arms(rows["fig5"]) if a[0] != first] or [first]
    columns = []
    for i, other in enumerate(others):
        which = [a for a in grouping.arms(every) if a[0] in (first, other)]
        name, title, unit = _PANELS[1]
        unit = f"{title}, {unit}"
        found = grouping.series(every, "step", name, which)
        whole = Panel(
            f"{ascii_lowercase[i]}  {palette.label(first)} and {palette.label(other)}",
            "iteration",
            unit,
            found,
        )
        end = zoom(whole, last * 2 / 3, last, f"{ascii_lowercase[i]}  (end)")
        columns.append((whole, end))
    # A pair's panels stand side by side where there are few of them.
    panels = list(columns) if len(columns) == 1 else list(zip(*columns, strict=True))
    figures.draw(panels, stem)


def _summary(rows: Mapping[str, Rows]) -> str:
    lines = []
    for own in (rows["fig4"], rows.get("fig5", [])):
        for arm in grouping.arms(own):
            errors_ = grouping.finals(own, arm, "test_error_percent")
            losses = grouping.finals(own, arm, "train_loss")
            variant = "ours" if not arm[2] else arm[2]
            name = arm[0] + " + batch norm" * arm[1]
            lines.append(
                [
                    name,
                    variant,
                    len(errors_),
                    grouping.spread(list(errors_.values())),
                    grouping.spread(list(losses.values())),
                ]
            )
    titles = "activation", "schedule", "runs", "test error %", "training loss, end"
    return grouping.markdown(titles, lines)


COMPARISON = Experiment(
    title="Figure 4: four units on CIFAR-100",
    section="4.2",
    draw=_draw_comparison,
    summary=_summary,
    trials=trials,
    measure=measure,
    columns=_COLUMNS,
    compares=_COMPARED,
    tested=learned,
    note=(
        "The paper says of a stack's 2 x 2 convolutions nothing about padding and of "
        "its 165,000 iterations nothing about the batch: see the config's card. The "
        "short budget has 3 epochs of our own `fast` schedule in place of the paper's "
        f"330, and one pair of {_PAPER_EPOCHS} epochs of the paper's own, which began "
        "from kernels of variance 1 / fan-in; the config now has 2 / fan-in. `fast` "
        "was chosen by the mean of ELU and ReLU (see the card): it is neither's best, "
        "and a run that stays at chance there, an error of 99 %, may have learnt at "
        "another rate. Such runs are in the figure, but in no pair that is tested, and "
        "decide no claim."
    ),
)
BATCH_NORM = Experiment(
    title="Figure 5: with and without batch normalisation",
    section="4.2",
    draw=_draw_pairs,
    summary=_summary,
    trials=with_batch_norm,
    measure=measure,
    columns=_COLUMNS,
    compares=_COMPARED,
    tested=learned,
    reads=("fig4",),
    note=(
        "The paper does not say where the normalisation stands: here between "
        "convolution and unit, and not before the logits."
    ),
)
