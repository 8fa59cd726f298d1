"""Timing: a training step with ELU compared with ReLU (section 4.4)."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from elu_zoo import errors, results
from elu_zoo.pairs import tables
from elu_zoo.pairs.grouping import Rows
from elu_zoo.pairs.plots import figures
from elu_zoo.pairs.plots.dots import DotPanel, Dots
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import Claim, ClaimTest, Effect
from elu_zoo.paper.experiment import Experiment

PAPER = 12.15 / 11.48  # hours of 10,000 iterations, with ELU and with ReLU
_ROUNDS = 5, 250, 250  # by budget
_COMMAND = "elu-zoo-benchmark"
_COLUMNS = "case", "form", "rounds", "value", "ratio", "ratio_low", "ratio_high"


def compute(plan: Plan) -> list[dict]:
    """Returns the ratios that elu-zoo-benchmark measures, in a new process."""
    # This Python's folder comes first, because it may be missing on the PATH.
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [shutil.which(_COMMAND, path=folders) or _COMMAND, "--parts=unit"]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "unit.csv"
        command += [f"--csv={path}", f"--rounds={plan.of(*_ROUNDS)}"]
        if plan.smoke:
            command.append("--models=mnist_mlp_8x128")
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise errors.ResourceError(
                f"The timing could not be measured: {error}. Run {_COMMAND} "
                "--parts=unit to see why."
            ) from error
        rows = results.read_file(path)
    return [{name: row[name] for name in (*_COLUMNS, "machine")} for row in rows]


def _covers(plan: Plan, rows: Rows) -> bool:
    return all(int(row["rounds"]) >= plan.of(*_ROUNDS) for row in rows)


def _draw(rows: Rows, stem: Path) -> None:
    dots: dict[tuple[str, bool], list] = {}
    for row in rows:
        if row["form"] != "relu":
            name = row["form"].partition(",")[0], "batch norm" in row["form"]
            case = row["case"].partition(",")[0]
            dots.setdefault(name, []).append((case, *_ratio(row)))
    shown = [
        Dots(name, *zip(*points, strict=True), batch_norm=batch_norm)
        for (name, batch_norm), points in dots.items()
    ]
    references = {"ReLU": 1, "ELU in the paper": PAPER}
    xlabel = "time of a training step, divided by ReLU's time"
    panel = DotPanel("", "", xlabel, shown, references)
    figures.bars([panel], stem)


def _summary(rows: Rows) -> str:
    relu = {row["case"]: float(row["value"]) for row in rows if row["form"] == "relu"}
    lines = []
    for row in rows:
        value = float(row["value"])
        ratio, low, high = (f"{number:.3f}" for number in _ratio(row))
        cells = [
            row["rounds"],
            f"{value:.4g}",
            f"{value / relu[row['case']]:.3f}" if row["case"] in relu else "",
            f"{ratio} ({low} to {high})",
        ]
        lines.append([row["case"], row["form"], *cells])
    titles = "network", "activation", "rounds", "ms a step", "divided by ReLU's ms"
    return tables.markdown((*titles, "median ratio of the rounds"), lines)


def _ratio(row: dict[str, str]) -> tuple[float, ...]:
    return tuple(float(row[key]) for key in ("ratio", "ratio_low", "ratio_high"))


def _find(rows: Rows, form: str) -> dict[str, str] | None:
    """Returns the row of the paper's network for CIFAR-100."""
    found = (r for r in rows if r["case"].startswith("elu_cifar_11"))
    return next((row for row in found if row["form"] == form), None)


def _ratio_to_relu(rows: Rows, test: ClaimTest) -> Effect:
    elu = _find(rows, "elu")
    return Effect(int(elu["rounds"]), *_ratio(elu)) if elu else Effect()


def _ratio_to_batch_norm(rows: Rows, test: ClaimTest) -> Effect:
    elu, normalised = _find(rows, "elu"), _find(rows, "relu, batch norm")
    if not elu or not normalised:
        return Effect()
    (middle, low, high), (other, other_low, other_high) = map(_ratio, (elu, normalised))
    # Ratios of opposite ends give a wider interval than the ratio's 95 % interval.
    ratio, low, high = middle / other, low / other_high, high / other_low
    outcome = "no difference"
    if low == high:  # rounds that do not vary have no interval
        outcome = "equal"
    elif test.supports(high):
        outcome = "supports"
    elif low > test.limit:
        outcome = "contradicts"
    return Effect(int(elu["rounds"]), ratio, low, high, outcome=outcome)


_CLAIMS = (
    Claim(
        "elu-5-percent-slower",
        "4.4",
        "Currently ELU nets are 5 % slower on ImageNet than ReLU nets.",
        f"5 %; its hours are a ratio of {PAPER:.3f}",
        (
            ClaimTest(
                "elu-costs-5-percent",
                "time of a training step of elu_cifar_11 on a CPU, ELU / ReLU; decides "
                "nothing, because the paper timed ImageNet networks in other software",
                _ratio_to_relu,
                limit=None,
            ),
        ),
    ),
    Claim(
        "elu-cheaper-than-batch-norm",
        "abstract",
        "ELUs ... with lower computational complexity [than batch normalization].",
        "no number",
        (
            ClaimTest(
                "elu-costs-less-than-batch-norm",
                "time of a training step of elu_cifar_11 on a CPU, ELU / ReLU with batch norm",
                _ratio_to_batch_norm,
                1,
            ),
        ),
    ),
)

EXPERIMENT = Experiment(
    title="Timing: a training step with ELU and with ReLU",
    section="4.4",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=(*_COLUMNS, "machine"),
    covers=_covers,
    trains="Single training steps",
    claims=_CLAIMS,
    note=(
        "The paper's text has 5 %. Its hours for 10,000 iterations on ImageNet, 12.15 "
        f"with ELU and 11.48 with ReLU, have a ratio of {PAPER:.3f}. Ratios here are "
        "medians over rounds, with 95 % bootstrap intervals; in each round every form "
        "of the network makes a training step. Other work on the machine distorts the "
        "ratios. Only the costs of ELU and of batch normalisation are compared. ELU's "
        "mean activations are a claim of figure 2, and are not compared with those of "
        "batch normalisation."
    ),
)
