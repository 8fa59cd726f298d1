"""Timing: a training step with ELU compared with ReLU (section 4.4)."""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from elu_zoo import errors, results
from elu_zoo.pairs import tables
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper.claims import Claim, ClaimTest, Effect
from elu_zoo.paper.experiment import Experiment

PAPER = 12.15 / 11.48  # hours of 10,000 iterations, with ELU and with ReLU
_ROUNDS = 5, 40, 40  # by budget
_RATIOS = "ratio", "ratio_low", "ratio_high"
_COLUMNS = "case", "form", "rounds", "value", *_RATIOS


def compute(plan: Plan) -> list[dict]:
    """Returns the ratios that elu-zoo-benchmark measures, in a new process."""
    command = [sys.executable, "-m", "elu_zoo.bin.benchmark", "--parts=unit"]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "unit.csv"
        command += [f"--csv={path}", f"--rounds={plan.of(*_ROUNDS)}"]
        if plan.smoke:
            command.append("--models=mnist_mlp_8x128")
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise errors.ResourceError(
                f"The timing could not be measured: {error}. Run elu-zoo-benchmark "
                "--parts=unit to see why."
            ) from error
        rows = results.read_file(path)
    return [{name: row[name] for name in (*_COLUMNS, "machine")} for row in rows]


def _summary(frame: pd.DataFrame) -> str:
    lines = [
        [row.case, row.form, row.rounds, f"{row.value:.4g}",
         f"{row.ratio:.3f} ({row.ratio_low:.3f} to {row.ratio_high:.3f})"]
        for row in frame.itertuples()
    ]  # fmt: skip
    titles = "network", "activation", "rounds", "ms a step", "median ratio of the rounds"
    return tables.markdown(titles, lines)


def _find(frame: pd.DataFrame, form: str) -> tuple[int, list[float]]:
    """Returns the rounds and ratio of a form of the paper's network for CIFAR-100."""
    found = frame[frame["case"].str.startswith("elu_cifar_11") & (frame["form"] == form)]
    if found.empty:
        return 0, [math.nan] * 3
    first = found.iloc[0]
    return int(first["rounds"]), [float(first[name]) for name in _RATIOS]


def _ratio_to_batch_norm(frame: pd.DataFrame, test: ClaimTest) -> Effect:
    rounds, (middle, low, high) = _find(frame, "elu")
    others, (other, other_low, other_high) = _find(frame, "relu, batch norm")
    if not rounds or not others:
        return Effect()
    # Ratios of opposite ends give a wider interval than the ratio's 95 % interval.
    ratio, low, high = middle / other, low / other_high, high / other_low
    outcome = "no difference"
    if low == high:  # rounds that do not vary have no interval
        outcome = "equal"
    elif test.supports(high):
        outcome = "supports"
    elif low > test.limit:
        outcome = "contradicts"
    return Effect(rounds, ratio, low, high, outcome=outcome)


_CLAIMS = (
    Claim(
        "elu-5-percent-slower",
        "4.4",
        "Currently ELU nets are 5 % slower on ImageNet than ReLU nets.",
        f"5 %; its hours are a ratio of {PAPER:.3f}",
        (),
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
    data="times of steps",
    draw=None,
    summary=_summary,
    compute=compute,
    columns=(*_COLUMNS, "machine"),
    computed_once=True,
    claims=_CLAIMS,
    note=(
        "The paper's text has 5 %. Its hours for 10,000 iterations on ImageNet, 12.15 with ELU "
        f"and 11.48 with ReLU, have a ratio of {PAPER:.3f}. They are not tested, because the "
        "paper timed other networks in other software. Ratios here are medians over rounds, "
        "with 95 % bootstrap intervals; in each round every form of the network makes a "
        "training step in float32, in which batch normalisation computes. Other work on the "
        "machine distorts the ratios."
    ),
)
