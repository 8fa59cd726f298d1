"""Tables of a comparison in compare.csv, tuning.csv and Markdown."""

import dataclasses
import math
from pathlib import Path

from elu_zoo import results
from elu_zoo.compare import images, paired_tests
from elu_zoo.compare.paired_tests import Tested
from elu_zoo.compare.result import ComparisonResult, is_tuning, metric
from elu_zoo.compare.tuning import Choice
from elu_zoo.pairs import tables

_RUN = "activation", "factor", "seed", "error", "train_loss", "diverged", "command"
_TRIAL = "activation", "factor", "seed", "error", "diverged", "chosen"


def tested(result: ComparisonResult, *, tuned: bool) -> list[Tested]:
    """Returns tests by rank, at the best learning rates if `tuned`, else the config's."""
    names, reference = result.comparison.activations, result.comparison.reference
    runs = {name: result.paired(name, tuned=tuned) for name in names}
    values = {name: {seed: x.error for seed, x in runs[name].items()} for name in names}
    found = []
    for each in paired_tests.compared(values):
        if not math.isnan(each.p):
            pair = (
                {s: x.of_images for s, x in runs[n].items()} for n in (each.activation, reference)
            )
            each = dataclasses.replace(each, with_images=images.interval(*pair))
        found.append(each)
    return sorted(found, key=lambda each: each.rank or math.inf)


def unit(result: ComparisonResult) -> str:
    """Returns the unit of errors: "percent" (of images) or "squared error"."""
    is_percent = metric(result.comparison.config) == "error_percent"
    return "percent" if is_percent else "squared error"


def main(result: ComparisonResult, *, tuned: bool) -> str:
    """Returns the table of errors, differences, tests and step times in Markdown."""
    comparison, lines = result.comparison, []
    for each in tested(result, tuned=tuned):
        choice = result.choices[each.activation]
        factor = choice.factor if tuned else 1.0
        edge = " (edge)" * (tuned and choice.at_edge)
        effect = each.difference
        lines.append(
            [
                each.rank or "",
                each.activation,
                "none" if factor is None else f"{factor:g}{edge}",
                tables.mean(each.errors.values()),
                tables.interval(effect.mean, effect.low, effect.high) if effect else "",
                "{:+.3g} to {:+.3g}".format(*each.with_images) if each.with_images else "",
                tables.p_value(each.p),
                tables.p_value(each.wilcoxon),
                each.verdict,
                each.diverged or "",
                f"{result.costs[each.activation].ratio:.2f}",
            ]
        )
    titles = (
        *("rank", "activation", "rate x", f"{comparison.split} error, {unit(result)}"),
        *(f"minus {comparison.reference} (interval)", "with images, 95 %"),
        *("p, Student, Holm", "p, Wilcoxon, uncorrected"),
        *("verdict", "not trained", "step time"),
    )
    return tables.markdown(titles, lines)


def choice_text(choice: Choice) -> str:
    """Returns the chosen factor as text."""
    edge = ", the edge of those tried: a better factor may lie beyond" * choice.at_edge
    return f"rate x {choice.factor:g}{edge}" if choice.factor else "no rate: all diverged"


def write(result: ComparisonResult, output: Path) -> None:
    """Writes a row for each run: paired runs to compare.csv, others to tuning.csv."""
    rows: dict[bool, list] = {True: [], False: []}  # of tuning runs, of paired runs
    for trial, measured in result.runs.items():
        values = {"error": measured.error, "train_loss": measured.train_loss}
        row = {name: "" if measured.diverged else f"{x:.6g}" for name, x in values.items()}
        row |= {"activation": trial.activation, "factor": f"{trial.factor:g}", "seed": trial.seed}
        row["chosen"] = trial.factor == result.choices[trial.activation].factor
        row |= {"diverged": measured.diverged, "command": trial.command}
        rows[is_tuning(trial)].append(row)
    for name, columns, of_tuning in ("compare", _RUN, False), ("tuning", _TRIAL, True):
        table = [{column: row[column] for column in columns} for row in rows[of_tuning]]
        results.write(output / f"{name}.csv", columns, table)
