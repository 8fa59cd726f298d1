"""Report of a comparison in Markdown: conclusions, tables, figures and method."""

from pathlib import Path

from elu_zoo import files
from elu_zoo.compare import tables, trials, tuning
from elu_zoo.compare.paired_tests import Tested
from elu_zoo.compare.result import ComparisonResult
from elu_zoo.pairs.statistics import LEAST_PAIRS

NAME = "report.md"


def write(result: ComparisonResult, output: Path) -> None:
    """Writes report.md."""
    files.write_bytes(output / NAME, _text(result).encode())


def conclusions(result: ComparisonResult) -> str:
    """Returns the report's first part: what the pairs of runs decide.

    It has a line for each activation except the reference, in the order of the ranks.
    """
    comparison, config = result.comparison, result.comparison.config
    tested = {each.activation: each for each in tables.tested(result, tuned=True)}
    reference = tested.pop(comparison.reference)
    rate = "its best rate that was tried" if comparison.tune > 1 else "the config's rate"
    epochs, whole = config.train.epochs, config.schedule_epochs
    length = f"{epochs} epochs (of the schedule's {whole})"
    lines = [
        f"Errors on these {comparison.split} images of {config.data.name}, after {length}, in "
        f"{comparison.seeds} pairs of runs of {config.model.name} compared with "
        f"{comparison.reference}, each activation at {rate}:",
        "",
        *(f"- {_conclusion(each, reference, result)}" for each in tested.values()),
    ]
    if reference.diverged or not reference.errors:
        total = reference.diverged + len(reference.errors)
        runs = f"{reference.diverged} of {total} runs" if total else "all tuning runs"
        lines[:0] = [
            f"**{reference.activation} did not train in {runs}, so that nothing is tested. "
            "Name another activation first.**",
            "",
        ]
    if config.smoke:
        lines[:0] = ["**A smoke test: it shows that everything runs, and nothing else.**", ""]
    return "\n".join(lines)


def _conclusion(each: Tested, reference: Tested, result: ComparisonResult) -> str:
    difference, other = each.difference, reference.activation
    name = f"**{each.activation}**"
    unit = "points" if tables.unit(result) == "percent" else "squared error"
    if each.verdict == "too few pairs":
        return (
            f"{name}: nothing is decided by fewer than {LEAST_PAIRS} pairs. Mean "
            f"difference {difference.mean:+.3g} {unit}."
        )
    if each.verdict == "not tested: equal differences":
        return (
            f"{name}: not tested, because all {difference.n} differences are equal, so "
            f"that there is no interval: {difference.mean:+.3g} {unit}."
        )
    if each.verdict == "not tested":
        return f"{name}: not tested, because {_why_untested(each, other)}."
    values = (
        f"difference {difference.mean:+.3g} {unit}, interval {difference.low:+.2g} to "
        f"{difference.high:+.2g}"
    )
    if each.verdict == "cannot be told apart":
        return f"{name} cannot be told apart from {other}: {values}, which contains 0."
    low, high = each.with_images
    sign = (
        f" On other images of this kind the sign may differ: {low:+.2g} to {high:+.2g} with the "
        "choice of images."
    ) * (low <= 0 <= high)
    return f"{name} has a {each.verdict} than {other}: {values}.{sign}"


def _why_untested(each: Tested, reference: str) -> str:
    runs = each.diverged + len(each.errors)
    if each.diverged:
        return f"{each.diverged} of its {runs} runs diverged or stayed at chance"
    return f"runs of {reference} did not train" if runs else "every rate diverged"


def _tables(result: ComparisonResult) -> str:
    at_config = f"## At the config's learning rate\n\n{tables.main(result, tuned=False)}"
    if result.comparison.tune == 1:
        return at_config
    best = tables.main(result, tuned=True)
    return f"## Each activation at its best tried learning rate\n\n{best}\n\n{at_config}"


_PICTURES = {
    "errors.png": "Error of each run, at the rate of the first table. Each marker is a run, in "
    "the form of its activation (a cross is tanh). A thin grey line joins the runs of one seed; "
    "a short line is the mean. Runs that did not train are not shown.",
    "curves.png": "Learning curves at the same rates: the mean over runs and a band of one "
    "standard deviation, on a logarithmic axis from the lowest run on. Of fewer than five runs, "
    "each is a thin line beside the mean.",
    "rates.png": "Validation error over the factor on the rate: the mean of the runs, and beside "
    "it a bar from the smallest to the largest error. A cross at the upper edge is a factor with "
    "which a run diverged. Much larger errors are not shown.",
}


def _text(result: ComparisonResult) -> str:
    pictures = [
        f"![{name}]({name})\n\n{text}"
        for name, text in _PICTURES.items()
        if (result.comparison.output / name).exists()
    ]
    parts = [
        f"# Activations on {result.comparison.config.name}",
        conclusions(result),
        _limits(result),
        _tables(result),
        _method(result),
        "## Figures",
        *pictures,
    ]
    return "\n\n".join(parts) + "\n"


def _limits(result: ComparisonResult) -> str:
    comparison = result.comparison
    edges = [name for name in comparison.activations if result.choices[name].at_edge]
    edge = (
        f" The best factor of {', '.join(edges)} is the smallest or largest that was "
        "tried: a factor beyond may have a lower error, and may change the conclusion."
    ) * bool(edges)
    tuned = (
        "Only the learning rate was tuned, by a search that follows single runs from the config's "
        "rate on: it may miss a better rate."
        if comparison.tune > 1
        else "Nothing was tuned: at another learning rate the order may be another one."
    )
    return (
        f"These errors say nothing about other networks or data. {tuned} Activations have "
        "their default parameters. Those that cannot be told apart may differ by any value in "
        f"the interval. Only differences from {comparison.reference} are tested; ranks order the "
        f"mean errors.{edge}"
    )


def _method(result: ComparisonResult) -> str:
    comparison = result.comparison
    how_tuned = (
        f"Each activation had at most {comparison.tune} tuning runs, each with another factor on "
        "all learning rates: 1; while the best factor is the largest or the smallest, the next one "
        "is 4 times larger or smaller; then the geometric mean of the best factor and the farther "
        "one beside it, until both beside it are within a factor of 2. The two best factors had "
        f"{tuning.FURTHER_RUNS} further runs together, and that with the smaller mean error on "
        "validation images was chosen, unless another factor had fewer diverged runs. These images "
        "are held out of the training images, and no other runs have the seeds of tuning runs. "
    ) * (comparison.tune > 1)
    made = sorted({run.made for run in result.runs.values() if run.made})
    differ = "**The runs were not all made alike, which may change errors:** " * (len(made) > 1)
    return (
        f"## How\n\nEach run begins with a warm-up of {100 * trials.WARMUP:g} % of its "
        "iterations, unless the config has its own: a factor on the rates that grows to 1. "
        f"{how_tuned}Each activation has {comparison.seeds} runs at a compared rate, with seeds "
        f"from {comparison.config.seed} on. Runs with the same seed are a pair: they have equal "
        "initial weights and data order. ± is the standard deviation over runs. Intervals are "
        "Student's for paired differences, widened by the Bonferroni factor of the test's step in "
        "Holm's procedure: an interval excludes 0 exactly if Holm's p is at most 0.05, in at most "
        "5 % of such tables though the true difference is 0, if the number of seeds was chosen "
        "before the first look. They cover the variation between seeds at these rates and on these "
        "images. Each table is corrected by itself; the first one decides. "
        "The interval with images covers 95 % for other seeds and other images of this kind "
        "together, from the error of each image in each run (random effects of both); it is not "
        "corrected, and decides no verdict. Wilcoxon's p is exact and two-sided. An activation "
        "with runs that did not train is neither tested nor ranked: they diverged, or ended at "
        "the error of guessing among equally frequent classes. Step times are divided by that of "
        f"{comparison.reference}, and vary by a few percent between measurements. Some, as elu "
        "and relu, compute in bfloat16 or after the pooling where others cannot.\n\n"
        f"The comparison: `{comparison.command}`. compare.csv has the command of each run.\n\n"
        f"{differ}{'; '.join(made)}"
    )
