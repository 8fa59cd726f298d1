"""Theorem 1 as a preconditioner: natural gradient of units beside plain SGD."""

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from elu_zoo import errors, zoo
from elu_zoo.analysis import figures, palette
from elu_zoo.analysis.natural_gradient import precondition
from elu_zoo.analysis.panels import Panel, Series
from elu_zoo.analysis.perceptron import UNITS, Perceptron
from elu_zoo.data import order, sources
from elu_zoo.experiments import frames
from elu_zoo.experiments.experiment import Experiment, Rows
from elu_zoo.experiments.trial import Plan

RATES = {
    "SGD": (0.01, 0.03, 0.1, 0.3),
    "natural gradient": (0.001, 0.003, 0.01, 0.03),
}
_BATCH, _MEASURED, _EVERY = 500, 2000, 10
_DAMPING = 0.1  # times E(delta^2), added to the diagonal of F
_DIVERGED = 1e9  # in place of a loss that is not finite


def compute(plan: Plan) -> list[dict]:
    """Returns losses along the runs; rates are chosen by the first seed's last loss.

    Raises:
        UsageError: a unit whose derivative is not known here.
    """
    units = plan.arms("elu", "relu")
    if unknown := [name for name in units if name not in UNITS]:
        raise errors.UsageError(
            f"natural_gradient knows the derivatives of {', '.join(UNITS)}. "
            f"Received: {', '.join(unknown)}."
        )
    data = sources.load("mnist", plan.data_dir).train
    images = _halved(data.images)
    rows = []
    for unit in units:
        for method, rates in RATES.items():
            tried = {
                rate: _run(plan, unit, method, rate, 0, images, data.labels)
                for rate in plan.of(rates[1:2], rates, rates)
            }
            best = min(tried, key=lambda rate: tried[rate][-1]["train_loss"])
            for seed in plan.runs(1, 5, 5):
                found = tried[best] if seed == 0 else None
                rows += found or _run(
                    plan, unit, method, best, seed, images, data.labels
                )
    return rows


def _halved(images: np.ndarray) -> np.ndarray:
    """Returns means of 2 x 2 pixels in [0, 1], `(n, 196)`."""
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
    chosen = order.permutation(seed, 0, len(images))
    rows, seconds, last = [], 0.0, plan.of(10, 60, 60)
    run = {"activation": unit, "method": method, "rate": rate, "seed": seed}
    for step in range(last + 1):
        if step % _EVERY == 0:
            with np.errstate(over="ignore", invalid="ignore"):
                loss = network.loss(images[:_MEASURED], labels[:_MEASURED])
            loss = loss if np.isfinite(loss) else _DIVERGED
            times = {"step": step, "seconds": round(seconds, 3)}
            rows.append({**run, **times, "train_loss": loss})
        start = time.perf_counter()
        batch = chosen[step * _BATCH : (step + 1) * _BATCH]
        with np.errstate(over="ignore", invalid="ignore"):  # where it diverges
            found = network.passes(images[batch], labels[batch], generator)
        if not np.isfinite(found.loss):
            missing = range(step - step % _EVERY + _EVERY, last + 1, _EVERY)
            lost = {**run, "train_loss": _DIVERGED, "seconds": seconds}
            return [*rows, *({**lost, "step": i} for i in missing)]
        for i, gradient in enumerate(found.gradients):
            if method != "SGD":
                delta2 = (found.deltas[i] ** 2).mean(axis=0)
                # A unit that is nearly dead has a nearly singular F.
                damping = _DAMPING * np.maximum(delta2, delta2.mean())
                gradient = precondition(
                    found.inputs[i], found.deltas[i], gradient, damping
                )
            network.weights[i] = network.weights[i] - rate * gradient
        seconds += time.perf_counter() - start
    return rows


def _initial(unit: str, seed: int, plan: Plan) -> list[np.ndarray]:
    model = zoo.get_model(
        "mnist_mlp_8x128",
        activation=unit,
        input_shape=(14, 14, 1),
        width=plan.of(0.125, 0.25, 0.25),
        seed=seed,
    )
    flat = model.get_weights()
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [np.vstack([kernel, bias]) for kernel, bias in pairs]


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = rows["natural_gradient"]
    panels = []
    for letter, unit in zip("abcd", _units(own), strict=False):
        found = []
        for method in RATES:
            runs = [r for r in own if (r["activation"], r["method"]) == (unit, method)]
            steps = sorted({int(r["step"]) for r in runs})
            losses = [
                [float(r["train_loss"]) for r in runs if r["seed"] == seed]
                for seed in dict.fromkeys(r["seed"] for r in runs)
            ]
            losses = [run for run in losses if max(run) < _DIVERGED]
            if not losses:
                continue
            # A marker and a colour of its own for each method.
            look = {"SGD": "relu", "natural gradient": "elu"}[method]
            found.append(Series(look, steps, losses, label=method))
        title = f"{letter}  {palette.label(unit)}"
        panels.append(Panel(title, "iteration", "training loss", found))
    figures.draw([panels], stem, height=3.4)


def _units(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["activation"] for row in rows))


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["natural_gradient"], []
    for unit in _units(own):
        for method in RATES:
            runs = [r for r in own if (r["activation"], r["method"]) == (unit, method)]
            last = max(int(r["step"]) for r in runs)
            ends = [r for r in runs if int(r["step"]) == last]
            losses = [float(r["train_loss"]) for r in ends]
            lost = sum(loss >= _DIVERGED for loss in losses)
            end = frames.spread([loss for loss in losses if loss < _DIVERGED])
            seconds = np.mean([float(r["seconds"]) for r in ends]) / last
            lines.append(
                [
                    unit,
                    method,
                    runs[0]["rate"],
                    len(ends),
                    f"{end} ({lost} diverged)" if lost else end,
                    f"{seconds * 1000:.3g}",
                ]
            )
    titles = ("activation", "method", "rate", "runs", "training loss, end")
    return frames.markdown((*titles, "ms an iteration"), lines)


EXPERIMENT = Experiment(
    title="Theorem 1 as a preconditioner",
    section="2",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=(
        *("activation", "method", "rate", "seed", "step", "train_loss", "seconds"),
    ),
    lasts=True,
    note=(
        "Eight layers of 32 units on MNIST at half its resolution, in NumPy; batches "
        f"of {_BATCH}, 60 iterations. Each unit's gradient is multiplied by the "
        "inverse of its own Fisher matrix, of the same batch and of labels drawn from "
        f"the network's softmax, with {_DAMPING} E(delta^2) added to the diagonal, of "
        "the unit or of the mean of its layer, whichever is larger. "
        "Each method has the rate with the lowest last training loss of seed 0, of "
        f"{RATES['SGD']} and {RATES['natural gradient']}. Equal iterations are far "
        "from equal time."
    ),
)
