"""Noise on images in the trained networks of figure 2: the paper's robust units."""

import math
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np

from elu_zoo import zoo
from elu_zoo.data import load
from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.figures import fig2_mnist_curves
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.dots import DotPanel, Dots
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.paper.theory import noise
from elu_zoo.training import recorder, result

SIGMAS = 0.03, 0.1, 0.3  # of pixels in [0, 1]
SHOWN = "0.1"  # of what depends on it
_DRAWS = 8
_DRAWN = {  # title, axis
    "gain": ("variation passed on", "variance by net inputs'"),
    "deactivated_noise_gain": (
        "noise passed on, deactivated",
        "variance by net inputs'",
    ),
    "relative_noise": ("noise by signal", "variance by signal's"),
    "saturated": ("saturated", "share of values"),
    "deactivated_signal": ("variation among deactivated", "share"),
}
_LAYER_MEASURES = {
    "gain": "gain",
    "deactivated_gain": "gain, deactivated",
    "deactivated_noise_gain": "noise gain, deactivated",
    "relative_noise": "noise by signal",
    "deactivated_signal": "deactivated share",
    "saturated": "saturated",
}


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns the response of each layer, and of the logits, to noise on images."""
    model = trained(workdir)
    images = load.load("mnist", plan.data_dir).test.first(plan.of(200, 1000, 1000))
    rows = []
    for sigma in SIGMAS:
        found = noise.noise_response(
            model,
            np.asarray(images.images, np.float32) / 255,
            sigma=sigma,
            draws=_DRAWS,
            seed=trial.seed,
        )
        for name, layer in found.layers.items():
            rows.append(
                {
                    "sigma": sigma,
                    "layer": name.removeprefix("act_"),
                    "gain": layer.every.signal_gain(),
                    "deactivated_gain": layer.deactivated.signal_gain(),
                    "deactivated_noise_gain": layer.deactivated.noise_gain(),
                    "relative_noise": layer.relative_noise(),
                    "deactivated_signal": layer.deactivated_signal(),
                    "deactivated": float(layer.deactivated.share.mean()),
                    "saturated": float(layer.saturated.mean()),
                }
            )
        logits = float(found.logit_noise.sum() / found.logit_signal.sum())
        rows.append(
            {
                "sigma": sigma,
                "layer": "logits",
                "relative_noise": logits,
                "probability_noise": found.probability_noise,
                "changed": found.changed,
            }
        )
    return rows


def trained(workdir: Path) -> keras.Model:
    """Returns a finished run's network, for pixels in [0, 1].

    Its weights are those of the last snapshot.
    """
    entry = result.find(workdir)
    model = zoo.get_model(entry["model"], preprocessing=False, **entry["arguments"])
    model.set_weights(list(recorder.read_snapshots(workdir).values())[-1])
    return model


def mean_over_layers(rows: Rows, arm: grouping.Arm, name: str) -> dict[int, float]:
    """Returns by seed the mean over hidden layers of a measure, at the shown sigma."""
    return {
        seed: float(np.mean([float(r[name]) for r in shown(own) if r[name]]))
        for seed, own in grouping.of_arm(rows, arm).items()
        if any(r[name] for r in shown(own))
    }


def of_logits(rows: Rows, arm: grouping.Arm, name: str) -> dict[int, float]:
    """Returns by seed a measure of the outputs, at the shown sigma."""
    found = grouping.of_arm(rows, arm).items()
    return {
        seed: float(row[name])
        for seed, own in found
        for row in own
        if row["sigma"] == SHOWN and row["layer"] == "logits"
    }


def shown(rows: Rows) -> Rows:
    """Returns the rows of hidden layers at the sigma that is shown."""
    return [r for r in rows if r["sigma"] == SHOWN and r["layer"] != "logits"]


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    own = shown(rows["noise"])
    layers = list(dict.fromkeys(row["layer"] for row in own))
    panels = []
    for letter, (name, (title, unit)) in zip("abcde", _DRAWN.items(), strict=True):
        dots = [_dots(own, arm, name, "layer", layers) for arm in grouping.arms(own)]
        panels.append(DotPanel(f"{letter}  {title}", "hidden layer", unit, dots))
    outputs = [row for row in rows["noise"] if row["layer"] == "logits"]
    sigmas = [str(sigma) for sigma in SIGMAS]
    arms = grouping.arms(own)
    # Of all units about equal beside what the noise's size does.
    base = next((arm for arm in arms if arm[0] == "relu"), arms[0])
    by = dict(zip(sigmas, _dots(outputs, base, "changed", "sigma", sigmas).middle,
                  strict=True))  # fmt: skip
    dots = [_dots(outputs, arm, "changed", "sigma", sigmas, by) for arm in arms]
    title = f"f  classes changed, by {palette.label(base[0])}'s"
    panels.append(DotPanel(title, "standard deviation of noise", "", dots, logx=True))
    figures.bars(panels, stem, height=5.2, columns=3)


def _dots(
    rows: Rows,
    arm: grouping.Arm,
    name: str,
    column: str,
    places: list[str],
    by: Mapping[str, float] | None = None,
) -> Dots:
    """Returns means and standard deviations of runs; layers are numbered.

    `by` says by what values of a place are divided; where it is 0, they are not known.
    """
    runs = grouping.of_arm(rows, arm).values()
    points = []
    for i, place in enumerate(places):
        values = [float(r[name]) for run in runs for r in run if r[column] == place]
        if by:
            values = [x / by[place] if by[place] else math.nan for x in values]
        mean = float(np.mean(values))
        width = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        x = float(place) if column == "sigma" else i + 1
        points.append((x, mean, mean - width, mean + width))
    return Dots(arm[0], *zip(*points, strict=True))


def _summary(rows: Mapping[str, Rows]) -> str:
    own, lines = rows["noise"], []
    for arm in grouping.arms(own):
        layers = [mean_over_layers(own, arm, name) for name in _LAYER_MEASURES]
        outputs = [of_logits(own, arm, n) for n in ("relative_noise", "changed")]
        cells = [grouping.spread(list(x.values())) for x in (*layers, *outputs)]
        lines.append([arm[0], len(layers[0]), *cells])
    titles = ("activation", "runs", *_LAYER_MEASURES.values())
    titles += ("logits: noise by signal", "class changes (share)")
    return grouping.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Noise: what passes through the units",
    section="1 and 3",
    draw=_draw,
    summary=_summary,
    trials=fig2_mnist_curves.trials,
    measure=measure,
    columns=(
        *("sigma", "layer", "gain", "deactivated_gain", "deactivated_signal"),
        *("saturated", "deactivated", "relative_noise", "deactivated_noise_gain"),
        *("probability_noise", "changed"),
    ),
    note=(
        "The paper argues, and measures nothing of it. Of 1,000 test images: the "
        "variance of a layer's outputs over images, by that of its net inputs; the "
        "same of deactivated units (net input < 0), where ReLU's is 0 and the leaky "
        "rectifier's its slope's square; the share of the outputs' variance that lies "
        "among deactivated values; the share of values where the derivative is below "
        f"0.1. Gaussian noise of a standard deviation of {SHOWN} of pixels in [0, 1] "
        "is added for what is said of noise. Table: means over hidden layers, which "
        "differ much from each other: see the figure."
    ),
)
