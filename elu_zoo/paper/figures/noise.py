"""Noise on images: how much noise the trained networks of figure 2 pass on."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
import numpy as np

from elu_zoo import zoo
from elu_zoo.data import load
from elu_zoo.paper import grouping, judging, tables
from elu_zoo.paper.experiment import Experiment
from elu_zoo.paper.figures import fig2_mnist_curves
from elu_zoo.paper.grouping import Arm, Rows
from elu_zoo.paper.judging import (
    Claim,
    ClaimTest,
    Read,
    ReadLayers,
    difference,
    difference_in_layers,
)
from elu_zoo.paper.plots import figures, palette
from elu_zoo.paper.plots.dots import DotPanel
from elu_zoo.paper.run.spec import Plan, Trial
from elu_zoo.paper.theory import noise
from elu_zoo.training import recorder, result

_SIGMAS = 0.03, 0.1, 0.3  # standard deviations of noise on pixels in [0, 1]
_SHOWN = "0.1"  # sigma of the tables, the claims and all panels but the last
_DRAWS = 8
_OURS = ("shifted_relu",)  # the paper's argument has LReLU and PReLU
_DRAWN = {  # title and y label
    "gain": ("variance passed on", "outputs / net inputs"),
    "deactivated_noise_gain": ("noise passed on, deactivated", "outputs / net inputs"),
    "relative_noise": ("noise relative to signal", "noise / signal"),
    "saturated": ("saturated outputs", "share of outputs"),
    "deactivated_signal": ("variance, deactivated", "share of variance"),
}
_LAYER_MEASURES = {
    "gain": "gain",
    "deactivated_gain": "gain, deactivated",
    "deactivated_noise_gain": "noise gain, deactivated",
    "relative_noise": "noise / signal",
    "deactivated_signal": "deactivated share",
    "saturated": "saturated share",
}


def measure(trial: Trial, workdir: Path, plan: Plan) -> list[dict]:
    """Returns the response of each layer and of the logits to noise on images."""
    model = trained(workdir)
    images = load.load("mnist", plan.data_dir).test.first(plan.of(200, 1000, 1000))
    rows = []
    for sigma in _SIGMAS:
        response = noise.noise_response(
            model,
            np.asarray(images.images, np.float32) / 255,
            sigma=sigma,
            draws=_DRAWS,
            seed=trial.seed,
        )
        for name, layer in response.layers.items():
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
        logits = float(response.logit_noise.sum() / response.logit_signal.sum())
        rows.append(
            {
                "sigma": sigma,
                "layer": "logits",
                "relative_noise": logits,
                "probability_noise": response.probability_noise,
                "changed": response.changed,
            }
        )
    return rows


def trained(workdir: Path) -> keras.Model:
    """Returns the network with the last recorded weights, for pixels in [0, 1].

    Args:
        workdir: folder of a finished run.
    """
    entry = result.find(workdir)
    model = zoo.get_model(entry["model"], preprocessing=False, **entry["arguments"])
    model.set_weights(list(recorder.read_snapshots(workdir).values())[-1])
    return model


def _by_layer(activation: str, column: str) -> ReadLayers:
    """Returns a reader of a column, by hidden layer and seed."""

    def read(rows: Rows) -> dict[str, dict[int, float]]:
        values: dict[str, dict[int, float]] = {}
        for seed, run in grouping.by_seed(_of_layers(rows), Arm(activation)).items():
            for row in run:
                if row[column]:
                    values.setdefault(row["layer"], {})[seed] = float(row[column])
        return values

    return read


def _of_logits(activation: str, column: str) -> Read:
    def read(rows: Rows) -> dict[int, float]:
        shown = [row for row in _logits(rows) if row["sigma"] == _SHOWN]
        return grouping.final_values(shown, Arm(activation), column)

    return read


def _of_layers(rows: Rows) -> Rows:
    """Returns the rows of hidden layers at the sigma that is shown."""
    return [r for r in rows if r["sigma"] == _SHOWN and r["layer"] != "logits"]


def _logits(rows: Rows) -> Rows:
    return [row for row in rows if row["layer"] == "logits"]


def _draw(rows: Rows, stem: Path) -> None:
    own = _of_layers(rows)
    arms = grouping.arms(own)
    layers = list(dict.fromkeys(row["layer"] for row in own))
    panels = []
    for letter, (column, (title, unit)) in zip("abcde", _DRAWN.items(), strict=True):
        dots = []
        for arm in arms:
            runs = _values(own, arm, column, "layer", layers)
            numbered = dict(enumerate(runs.values(), 1))
            ours = arm.activation in _OURS
            dots.append(grouping.dots(arm.activation, numbered, ours))
        panels.append(DotPanel(f"{letter}  {title}", "hidden layer", unit, dots))
    panels.append(_classes_changed(_logits(rows), arms))
    figures.bars(panels, stem, height=5.2, columns=3)


def _classes_changed(rows: Rows, arms: Sequence[Arm]) -> DotPanel:
    """Returns the panel of changed classes, divided by ReLU's mean at each sigma.

    Without ReLU the first arm replaces ReLU.
    """
    base = next((arm for arm in arms if arm.activation == "relu"), arms[0])
    sigmas = [str(sigma) for sigma in _SIGMAS]
    divisors = {
        sigma: np.mean(values) or math.nan
        for sigma, values in _values(rows, base, "changed", "sigma", sigmas).items()
    }
    dots = []
    for arm in arms:
        values = _values(rows, arm, "changed", "sigma", sigmas)
        ratios = {
            float(sigma): [float(value / divisors[sigma]) for value in values[sigma]]
            for sigma in sigmas
        }
        dots.append(grouping.dots(arm.activation, ratios, arm.activation in _OURS))
    ylabel = f"divided by {palette.label(base.activation)}'s"
    name = "standard deviation of noise"
    return DotPanel("f  changed classes", name, ylabel, dots, logx=True)


def _values(
    rows: Rows, arm: Arm, column: str, by: str, groups: Sequence[str]
) -> Mapping[str, list[float]]:
    """Returns a column's values in all runs, by the value in the column `by`."""
    values: dict[str, list[float]] = {group: [] for group in groups}
    for run in grouping.by_seed(rows, arm).values():
        for row in run:
            values[row[by]].append(float(row[column]))
    return values


def _summary(rows: Rows) -> str:
    lines = []
    for arm in grouping.arms(rows):
        name = arm.activation
        columns = [
            judging.mean_of_layers(_by_layer(name, column)(rows))
            for column in _LAYER_MEASURES
        ]
        columns += [_of_logits(name, c)(rows) for c in ("relative_noise", "changed")]
        cells = [tables.mean(values.values()) for values in columns]
        lines.append([name, len(columns[0]), *cells])
    titles = ("activation", "runs", *_LAYER_MEASURES.values())
    titles += ("logits: noise / signal", "changed classes (share)")
    return tables.markdown(titles, lines)


def _in_layers(
    name: str, measure_: str, column: str, *others: str
) -> tuple[ClaimTest, ...]:
    """Returns tests of ELU against other activations, by means over hidden layers."""
    return tuple(
        ClaimTest(
            f"noise-{name}-than-{other}",
            f"{measure_}, mean of layers, ELU - {palette.label(other)}",
            difference_in_layers(_by_layer("elu", column), _by_layer(other, column)),
            ours=other == "relu",  # the paper's argument has LReLU and PReLU
        )
        for other in others
    )


def _claim(name: str, section: str, text: str, tests: tuple[ClaimTest, ...]) -> Claim:
    return Claim(f"noise-{name}", section, text, "an argument", tests)


_LEAKY = "leaky_relu", "prelu"
_CLAIMS = (
    _claim(
        "robust-deactivation",
        "abstract, 1, 3",
        "While LReLUs and PReLUs have negative values, too, they do not ensure a "
        "noise-robust deactivation state.",
        _in_layers(
            "deactivation-more-robust",
            "noise variance of deactivated outputs, divided by that of net inputs",
            "deactivated_noise_gain",
            *_LEAKY,
        ),
    ),
    _claim(
        "less-variation",
        "abstract, 3",
        "ELUs saturate to a negative value with smaller inputs and thereby decrease "
        "the forward propagated variation and information.",
        _in_layers(
            "less-propagated",
            "variance of outputs, divided by that of net inputs",
            "gain",
            *_LEAKY,
            "relu",
        ),
    ),
    _claim(
        "absence-not-quantified",
        "abstract, 1, 3",
        "ELUs code the degree of presence of particular phenomena in the input, while "
        "they do not quantitatively model the degree of their absence.",
        _in_layers(
            "absence-quantified-less",
            "share of the outputs' variance that deactivated values have",
            "deactivated_signal",
            *_LEAKY,
        ),
    ),
    _claim(
        "robust",
        "1",
        "Such an activation function is more robust to noise.",
        tuple(
            ClaimTest(
                f"noise-more-robust-than-{other}",
                f"share of classes that noise changes, ELU - {palette.label(other)}",
                difference(_of_logits("elu", "changed"), _of_logits(other, "changed")),
                ours=other == "relu",
            )
            for other in (*_LEAKY, "relu")
        ),
    ),
)

EXPERIMENT = Experiment(
    title="Noise: what passes through the units",
    section="sections 1 and 3",
    draw=_draw,
    summary=_summary,
    trials=fig2_mnist_curves.measured_trials,
    measure=measure,
    columns=(
        *("sigma", "layer", "gain", "deactivated_gain", "deactivated_signal"),
        *("saturated", "deactivated", "relative_noise", "deactivated_noise_gain"),
        *("probability_noise", "changed"),
    ),
    claims=_CLAIMS,
    paper_epochs=300,
    schedule_of="figure 2",
    note=(
        "The paper argues about noise and does not measure it. We measure trained "
        "networks on 1,000 test images. The gain is the variance of a layer's outputs "
        "over images, divided by the variance of its net inputs. The gain of "
        "deactivated units (net input < 0) is 0 for ReLU and the square of the slope "
        "for leaky ReLU. The deactivated share is the share of the outputs' variance "
        "that lies among deactivated values. A value is saturated where the derivative "
        "is below 0.1. Noise is Gaussian, with a standard deviation of "
        f"{_SHOWN} on pixels in [0, 1] unless the figure has another. The table has "
        "means over hidden layers; the figure shows how much the layers differ. Error "
        "bars are one standard deviation over runs."
    ),
)
