"""Theorem 1 as a preconditioner: the unit natural gradient compared with SGD."""

import dataclasses
import math
import time
from pathlib import Path
from string import ascii_lowercase

import numpy as np

from elu_zoo import zoo
from elu_zoo.data import load, order
from elu_zoo.paper import grouping, statistics, tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.grouping import Rows
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.panels import Panel, Series, zoom
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.theory.natural_gradient import precondition
from elu_zoo.paper.theory.perceptron import Perceptron

NATURAL, SGD, LONGER = "natural gradient", "SGD", "SGD for longer"
RATES = {
    SGD: (0.01, 0.03, 0.1, 0.3),
    NATURAL: (0.003, 0.01, 0.03, 0.1),
    LONGER: (0.01, 0.03, 0.1, 0.3),
}
# 1200 iterations of SGD take at least as many seconds as 60 of the natural gradient.
_ITERATIONS, _LONGER = 60, 1200
_UNITS = "elu", "relu"
_SEEDS = 1, 5, 5  # by budget
_BATCH, _MEASURED = 500, 2000  # images of a step and of a measured loss
_EVERY = 10  # iterations from one measured loss to the next
_DAMPING = 0.1  # this times E(delta^2) is added to the diagonal of F
_DIVERGED = 1e9  # replaces a loss that is not finite


def compute(plan: Plan) -> list[dict]:
    """Returns losses along the runs of each method at its best learning rate.

    The best rate has the lowest last training loss of the first seed.
    """
    data = load.load("mnist", plan.data_dir).train
    images = _halved(data.images)
    rows = []
    for unit in _UNITS:
        for method, rates in RATES.items():
            tried = {
                rate: _run(plan, unit, method, rate, 0, images, data.labels)
                for rate in plan.of(rates[1:2], rates, rates)
            }
            best = min(tried, key=lambda rate: tried[rate][-1]["train_loss"])
            for seed in plan.runs(*_SEEDS):
                first_run = tried[best] if seed == 0 else None
                rows += first_run or _run(
                    plan, unit, method, best, seed, images, data.labels
                )
    return rows


def _covers(plan: Plan, rows: Rows) -> bool:
    stored = {(row["activation"], row["seed"]) for row in rows}
    seeds = plan.runs(*_SEEDS)
    return all((unit, str(seed)) in stored for unit in _UNITS for seed in seeds)


def _halved(images: np.ndarray) -> np.ndarray:
    """Returns images at half the resolution, with pixels in [0, 1], `(n, 196)`.

    Each pixel is the mean of 2 x 2 pixels.
    """
    n, height, width, _ = images.shape
    blocks = images.reshape(n, height // 2, 2, width // 2, 2)
    return blocks.mean(axis=(2, 4)).reshape(n, -1) / 255


def _run(
    plan: Plan,
    unit: str,
    method: str,
    rate: float,
    seed: int,
    images: np.ndarray,
    labels: np.ndarray,
) -> list[dict]:
    network = Perceptron(unit, _initial(unit, seed, plan))
    generator = np.random.Generator(np.random.Philox(seed))
    most = _LONGER if method == LONGER else _ITERATIONS
    rows, seconds, last = [], 0.0, plan.of(10, most, most)
    steps_per_epoch = len(images) // _BATCH
    run = {"activation": unit, "method": method, "rate": rate, "seed": seed}
    for step in range(last + 1):
        if step % _EVERY == 0:
            with np.errstate(over="ignore", invalid="ignore"):
                loss = network.loss(images[:_MEASURED], labels[:_MEASURED])
            loss = loss if np.isfinite(loss) else _DIVERGED
            times = {"step": step, "seconds": round(seconds, 3)}
            rows.append({**run, **times, "train_loss": loss})
        start = time.perf_counter()
        epoch, offset = divmod(step, steps_per_epoch)
        if not offset:
            permuted = order.permutation(seed, epoch, len(images))
        batch = permuted[offset * _BATCH : (offset + 1) * _BATCH]
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging run overflows
            passes = network.passes(images[batch], labels[batch], generator)
        if not np.isfinite(passes.loss):
            missing = range(step - step % _EVERY + _EVERY, last + 1, _EVERY)
            diverged = {**run, "train_loss": _DIVERGED, "seconds": seconds}
            return [*rows, *({**diverged, "step": i} for i in missing)]
        for i, gradient in enumerate(passes.gradients):
            delta2 = (passes.deltas[i] ** 2).mean(axis=0)
            if method == NATURAL and delta2.any():  # the layer is not dead
                # F of a unit that is nearly dead is nearly singular.
                damping = _DAMPING * np.maximum(delta2, delta2.mean())
                gradient = precondition(
                    passes.inputs[i], passes.deltas[i], gradient, damping
                )
            network.weights[i] = network.weights[i] - rate * gradient
        seconds += time.perf_counter() - start
    return rows


def _initial(unit: str, seed: int, plan: Plan) -> list[np.ndarray]:
    model = zoo.get_model(
        "mnist_mlp_8x128",
        preprocessing=False,
        activation=unit,
        input_shape=(14, 14, 1),
        width=plan.of(0.125, 0.25, 0.25),
        seed=seed,
    )
    flat = model.get_weights()
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [np.vstack([kernel, bias]) for kernel, bias in pairs]


def _draw(rows: Rows, stem: Path) -> None:
    units = _units(rows)
    letters = iter(ascii_lowercase)
    panels = [
        [p for unit in units if (p := _panel(rows, unit, timed, next(letters)))]
        for timed in (False, True)
    ]
    shown = [row for row in panels if row]
    figures.draw(shown, stem, height=0.5 + 2.5 * len(shown))


def _panel(rows: Rows, unit: str, timed: bool, letter: str) -> Panel | None:
    other, natural = (
        _find_runs(rows, unit, m) for m in (LONGER if timed else SGD, NATURAL)
    )
    curves = [s for m in (other, natural) if m and (s := m.series(timed))]
    if not curves:
        return None
    xlabel = "seconds" if timed else "iterations"
    title = f"{letter}  {palette.label(unit)}, over {xlabel}"
    panel = Panel(title, xlabel, "training loss", curves, logy=True)
    if timed and natural and other and len(curves) == 2:
        end = natural.seconds(natural.last)
        end_of_axis = max(end, min(1.5 * end, other.seconds(other.last)))
        return zoom(panel, 0, 1.02 * end_of_axis)
    return panel


@dataclasses.dataclass(frozen=True)
class _Method:
    """The runs of one activation with one method.

    Attributes:
        name: name of the method, such as "SGD".
        rate: learning rate.
        losses: training loss by seed and step.
        total: seconds of all steps, mean over the runs that did not diverge; NaN if
            all diverged.
    """

    name: str
    rate: str
    losses: dict[str, dict[int, float]]
    total: float

    @property
    def last(self) -> int:
        return max(max(run) for run in self.losses.values())

    def seconds(self, step: int) -> float:
        return self.total * step / self.last

    def step_within(self, seconds: float) -> int:
        """Returns the last measured step that a run reaches in a number of seconds."""
        (run, *_) = self.losses.values()
        return max((i for i in run if self.seconds(i) <= seconds), default=0)

    def losses_after(self, step: int) -> dict[int, float]:
        """Returns the loss after a step, by seed, of the runs that did not diverge."""
        losses = {int(seed): run[step] for seed, run in self.losses.items()}
        return {seed: loss for seed, loss in losses.items() if loss < _DIVERGED}

    def series(self, over_seconds: bool) -> Series | None:
        runs = [r for r in self.losses.values() if max(r.values()) < _DIVERGED]
        if not runs:
            return None
        x = [self.seconds(step) if over_seconds else step for step in runs[0]]
        losses = [list(run.values()) for run in runs]
        return Series(self.name, x, losses)


def _find_runs(rows: Rows, unit: str, method: str) -> _Method | None:
    runs = [r for r in rows if (r["activation"], r["method"]) == (unit, method)]
    if not runs:
        return None
    losses: dict[str, dict[int, float]] = {}
    for row in runs:
        losses.setdefault(row["seed"], {})[int(row["step"])] = float(row["train_loss"])
    last = max(max(run) for run in losses.values())
    # The seconds of a run that diverged end with its last step.
    ended = [r for r in runs if float(r["train_loss"]) < _DIVERGED]
    seconds = [float(r["seconds"]) for r in ended if int(r["step"]) == last]
    total = float(np.mean(seconds)) if seconds else math.nan
    return _Method(method, runs[0]["rate"], losses, total)


def _units(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["activation"] for row in rows))


def _summary(rows: Rows) -> str:
    lines = []
    for unit in _units(rows):
        methods = [m for name in RATES if (m := _find_runs(rows, unit, name))]
        lines += [_line(unit, method) for method in methods]
        named = {method.name: method for method in methods}
        if NATURAL not in named:
            continue
        natural = named[NATURAL]
        for other in (SGD, LONGER):
            if other in named:
                lines.append(_difference(unit, natural, named[other]))
    titles = "activation", "method", "rate", "runs", "training loss, end"
    return tables.markdown((*titles, "iterations", "ms an iteration"), lines)


def _line(unit: str, method: _Method) -> list[object]:
    losses = list(method.losses_after(method.last).values())
    diverged = len(method.losses) - len(losses)
    end = tables.mean(losses) + f" ({diverged} diverged)" * bool(diverged)
    ms = f"{method.seconds(1) * 1000:.3g}" if losses else ""
    return [unit, method.name, method.rate, len(method.losses), end, method.last, ms]


def _difference(unit: str, natural: _Method, other: _Method) -> list[object]:
    """Returns the line with the paired difference of two methods.

    The difference is after equal iterations, or after equal seconds if the other
    method is `LONGER`.
    """
    step = min(natural.last, other.last)
    if other.name == LONGER:
        step = other.step_within(natural.seconds(natural.last))
    pair = grouping.pairs(natural.losses_after(natural.last), other.losses_after(step))
    text = "no pair"
    if pair[0]:
        comparison = statistics.paired(*pair)
        text = f"{tables.mean_difference(*pair)}, {statistics.p_text(comparison)}"
    name = f"{natural.name} - {other.name}"
    return [unit, name, "", len(pair[0]), text, f"{natural.last} and {step}", ""]


EXPERIMENT = Experiment(
    title="Theorem 1 as a preconditioner",
    section="2",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=(
        *("activation", "method", "rate", "seed", "step", "train_loss", "seconds"),
    ),
    covers=_covers,
    trains=f"At most {_ITERATIONS} iterations, or {_LONGER:,} of `{LONGER}`",
    note=(
        "Networks of eight layers of 32 units learn MNIST at half its resolution, in "
        f"NumPy, for {_ITERATIONS} iterations with batches of {_BATCH} images. The "
        "natural gradient multiplies the gradient of each unit by the inverse of the "
        "unit's Fisher matrix. This matrix is of the same batch, with labels drawn "
        f"from the network's softmax, and {_DAMPING} E(delta^2) is added to its "
        "diagonal: of the unit, or the mean of its layer if this mean is larger. Each "
        "method has the learning rate with the lowest last training loss of seed 0, "
        f"among {RATES[SGD]} for SGD and {RATES[NATURAL]} for the natural gradient. An "
        "iteration of the natural gradient takes much longer than one of SGD. `SGD for "
        f"longer` therefore has {_LONGER:,} iterations, and is compared after the same "
        "number of seconds. p is two-sided, of Wilcoxon's exact test."
    ),
)
