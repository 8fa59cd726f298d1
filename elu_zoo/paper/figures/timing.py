"""Section 4.4's 5 %: how much longer a training step takes with ELU than with ReLU."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from elu_zoo import errors, results
from elu_zoo.paper import grouping
from elu_zoo.paper.experiment import Experiment, Rows
from elu_zoo.paper.plots import figures
from elu_zoo.paper.plots.dots import DotPanel, Dots
from elu_zoo.paper.run.spec import Plan

PAPER = 12.15 / 11.48  # hours of 10,000 iterations, ELU's and ReLU's
_COMMAND = "elu-zoo-benchmark"
_COLUMNS = "case", "form", "rounds", "value", "ratio", "ratio_low", "ratio_high"


def compute(plan: Plan) -> list[dict]:
    """Returns the benchmark's ratios, measured in a process of its own."""
    # Beside this Python first: a shell without its environment has another or none.
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [shutil.which(_COMMAND, path=places) or _COMMAND, "--parts=unit"]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "unit.csv"
        command.append(f"--csv={path}")
        if plan.smoke:
            command += ["--models=mnist_mlp_8x128", "--rounds=5"]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise errors.ResourceError(
                f"The timing was not measured: {error}."
            ) from error
        rows = results.read_file(path)
    return [{name: row[name] for name in (*_COLUMNS, "machine")} for row in rows]


def _draw(rows: Mapping[str, Rows], stem: Path) -> None:
    dots: dict[tuple[str, bool], list] = {}
    for row in rows["timing"]:
        if row["form"] != "relu":
            values = (float(row[k]) for k in ("ratio", "ratio_low", "ratio_high"))
            name = row["form"].partition(",")[0], "batch norm" in row["form"]
            dots.setdefault(name, []).append((row["case"].partition(",")[0], *values))
    shown = [
        Dots(name, *zip(*points, strict=True), batch_norm=batch_norm)
        for (name, batch_norm), points in dots.items()
    ]
    references = {"ReLU": 1, "ELU in the paper": PAPER}
    panel = DotPanel("", "", "time of a training step, ReLU's is 1", shown, references)
    figures.bars([panel], stem)


def _summary(rows: Mapping[str, Rows]) -> str:
    lines = [
        [
            row["case"],
            row["form"],
            row["rounds"],
            f"{float(row['value']):.3g}",
            f"{float(row['ratio']):.3f} ({float(row['ratio_low']):.3f} to "
            f"{float(row['ratio_high']):.3f})",
        ]
        for row in rows["timing"]
    ]
    titles = ("network", "unit", "rounds", "ms a step", "ratio to ReLU")
    return grouping.markdown(titles, lines)


EXPERIMENT = Experiment(
    title="Timing: a training step with ELU and with ReLU",
    section="4.4",
    draw=_draw,
    summary=_summary,
    compute=compute,
    columns=(*_COLUMNS, "machine"),
    covers=lambda plan, rows: True,
    note=(
        "The paper says 5 % in its text; its hours, 12.15 and 11.48 for 10,000 "
        f"iterations on ImageNet, are a ratio of {PAPER:.3f}. Ratios here are medians "
        "over rounds in which all units run in turn, with 95 % bootstrap intervals; "
        "other work on the machine spoils them."
    ),
)
